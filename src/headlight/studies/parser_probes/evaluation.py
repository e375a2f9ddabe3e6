"""How well a probe parses: UAS, UAS of the best tree, UUAS, and how sure that is."""

from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64

from headlight.errors import UnknownNameError
from headlight.studies.parser_probes.batches import ParserBatch, ParserData
from headlight.studies.parser_probes.models import Parser
from headlight.studies.parser_probes.settings import Symmetry
from headlight.studies.parser_probes.training import EVALUATED
from headlight.studies.parser_probes.trees import arborescence, spanning_edges
from headlight.studies.word_maps.store import NO_HEAD

METRICS = ("uas", "uas_tree", "uuas")
PerSentence = Int64[np.ndarray, " sentence"]


@dataclass(frozen=True, eq=False)
class Counts:
    """What a probe got right in each sentence.

    Attributes:
        words: Words with a known head that are no punctuation; the root's child counts.
        uas: Of these, the ones whose best candidate is their head.
        uas_tree: Of these, the ones whose head is right in the best tree with a single root.
        edges: Gold edges between two words that are no punctuation, the root left out.
        uuas: Of these, the ones in the best undirected tree over the same words.
    """

    words: PerSentence
    uas: PerSentence
    uas_tree: PerSentence
    edges: PerSentence
    uuas: PerSentence

    def of(self, metric: str) -> tuple[PerSentence, PerSentence]:
        """What was right and what there was, by sentence.

        Raises:
            UnknownNameError: it is none of `METRICS`.
        """
        if metric not in METRICS:
            raise UnknownNameError("score", metric, METRICS)
        return getattr(self, metric), self.edges if metric == "uuas" else self.words

    def __add__(self, other: "Counts") -> "Counts":
        """The same sentences once more, parsed by another probe."""
        names = [each.name for each in fields(self)]
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in names})


@torch.inference_mode()
def evaluate(model: Parser, data: ParserData, *, symmetry: Symmetry = "max") -> Counts:
    """Parse every sentence.

    Args:
        model: the probe.
        data: the sentences; gold heads that truncation has lost are not counted.
        symmetry: how UUAS joins log p(i | j) and log p(j | i), see `spanning_edges`.

    Raises:
        UsageError: the packages that find trees are not installed.
    """
    counts = {each.name: np.zeros(len(data), dtype=np.int64) for each in fields(Counts)}
    for numbers in data.by_length(range(len(data)), EVALUATED):
        batch = data.batch(numbers)
        scores = model(batch).double().log_softmax(-1).cpu().numpy()
        for place, number in enumerate(numbers):
            found = _one(batch, place, scores[place], symmetry)
            for name, count in found.items():
                counts[name][number] = count
    return Counts(**counts)


def share(correct: PerSentence, total: PerSentence) -> float:
    """Right ones among all, from 0 to 1; NaN where there is none."""
    return float(correct.sum() / total.sum()) if total.sum() else np.nan


def _one(
    batch: ParserBatch, place: int, scores: Float[np.ndarray, "word candidate"], symmetry: Symmetry
) -> dict[str, int]:
    length = int(batch.lengths[place])
    gold = batch.heads[place, :length].cpu().numpy()
    plain = ~batch.punctuation[place, :length].cpu().numpy()
    scores = scores[:length, : length + 1]
    counted = plain & (gold != NO_HEAD)
    right = {
        "uas": scores.argmax(-1) == gold if length else counted,
        "uas_tree": arborescence(scores) == gold,
    }
    edges = gold_edges(gold, plain)
    words = np.flatnonzero(plain)
    found = words[spanning_edges(scores[:, 1:][np.ix_(words, words)], symmetry)]
    return {
        "words": int(counted.sum()),
        **{name: int((hit & counted).sum()) for name, hit in right.items()},
        "edges": len(edges),
        "uuas": len(edges & {(int(first), int(second)) for first, second in found}),
    }


def gold_edges(
    gold: Int64[np.ndarray, " word"], plain: Bool[np.ndarray, " word"]
) -> set[tuple[int, int]]:
    """Pairs of a word and its head, the earlier first, counted from 0; none with punctuation."""
    pairs = ((word, int(head) - 1) for word, head in enumerate(gold) if head > 0)
    return {(min(pair), max(pair)) for pair in pairs if plain[pair[0]] and plain[pair[1]]}
