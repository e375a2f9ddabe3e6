"""How often each head finds the governor of a word, while a batch runs through the model."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Int16
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.corpora import Sentence
from headlight.encode import EncodedSentence
from headlight.encode.batch import Batch
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.reduce import Bootstrap, Count, Tally
from headlight.studies.dependency.baselines import by_offset, right_branching
from headlight.studies.dependency.gold import gold_of
from headlight.studies.dependency.predictions import (
    Pairs,
    WordScore,
    candidates,
    counted,
    predictions,
    right,
)
from headlight.studies.dependency.settings import DependencySettings


class DependencyObserver:
    """Sees the attention of one batch; keeps how often each relation was found in each sentence.

    Args:
        batch: What the model is given.
        examples: The same, with their trees.
        settings: What is asked.
        measures: Those of the settings that this pass of the model has.
        codes: The number of every relation.
    """

    def __init__(
        self,
        batch: Batch,
        examples: Sequence[EncodedSentence],
        settings: DependencySettings,
        measures: Sequence[str],
        codes: Mapping[str, int],
    ) -> None:
        self._settings = settings
        self._measures = measures
        self._sentences = [example.sentence for example in examples]
        self._words = Words.of(batch.word, queries=settings.queries)
        self._gold = gold_of(
            self._sentences,
            [example.kept for example in examples],
            codes,
            naming=settings.relations,
            possessive=settings.possessive,
            device=batch.word.device,
        )
        self._candidates = candidates(self._gold.present)
        self._correct: dict[int, Int16[Tensor, "batch measure head direction relation"]] = {}

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer; nothing of it is kept but counts."""
        scores = Scores(record, self._settings.value_bias, precision=torch.float32)
        allowed = self._allowed(record)
        found = [
            counted(
                right(predictions(self._score(scores, measure), allowed), self._gold), self._gold
            )
            for measure in self._measures
        ]
        heads = max(each.shape[1] for each in found)  # attribution has one row for all of them
        rows = [_with_heads(each, heads, dim=1) for each in found]
        self._correct[record.site.layer] = torch.stack(rows, dim=1).to(torch.int16)

    def tally(self) -> Tally:
        """Counts of the batch: sentences along the first axis, so that they can be resampled."""
        gold = self._gold
        offsets = right(by_offset(gold, self._settings.offsets), gold)
        branching = right(right_branching(gold), gold)
        counts = {
            "correct": _array(_stacked([self._correct[layer] for layer in sorted(self._correct)])),
            "count": _array(gold.members.sum(1)),
            "offset": _array(counted(offsets, gold)),
            "right_branching": _array(counted(branching, gold)[:, 0]),
        }
        keys = np.array([_key(sentence) for sentence in self._sentences], dtype=np.int64)
        resampled = {name: self._resampled(keys, rows) for name, rows in counts.items()}
        return Tally({**resampled, "sentences": self._kept()})

    def _score(self, scores: Scores, measure: str) -> WordScore:
        """A measure between the words of the sentence; words cut in two are left out."""
        score = word_score(scores, measure, self._words, self._settings.pooling)
        width = self._candidates.shape[1]
        missing = max(width - score.shape[-1], 0)
        return torch.nn.functional.pad(score, (0, missing, 0, missing))[..., :width, :width]

    def _allowed(self, record: LayerRecord) -> Pairs:
        """Pairs of words of which one may attend to the other, in at least one of its pieces.

        Where not all queries see the same keys, under a causal mask or a window, weights of exactly
        0 would be compared with effective ones below 0.
        """
        if record.visible is None or record.visible.shape[1] == 1:
            return self._candidates
        pooled = self._words.pool(record.visible[:, None].float())[:, 0]
        return self._candidates & (pooled > 0)

    def _resampled(self, keys: np.ndarray, rows: np.ndarray) -> Bootstrap:
        made = Bootstrap(
            rows.shape[1:], replicates=self._settings.bootstrap, seed=self._settings.seed
        )
        made.update(keys, rows)
        return made

    def _kept(self) -> Count:
        """Sentences, words, words whose governor was cut off, and words that were cut off."""
        gold = self._gold
        ones = torch.ones_like(gold.cut)
        kept = Count((4,))
        kept.update(_array(torch.stack([ones, gold.lengths, gold.cut, gold.lost], dim=1)))
        return kept


def _stacked(
    layers: Sequence[Int16[Tensor, "batch measure _ direction relation"]],
) -> Int16[Tensor, "batch measure layer head direction relation"]:
    """Layers side by side; one with fewer heads is filled up with heads that find nothing."""
    heads = max(layer.shape[2] for layer in layers)
    return torch.stack([_with_heads(layer, heads, dim=2) for layer in layers], dim=2)


def _with_heads(counts: Tensor, heads: int, dim: int) -> Tensor:
    """As many heads as asked for along the axis, the third from the end; the new ones have 0."""
    missing = heads - counts.shape[dim]
    return torch.nn.functional.pad(counts, (0, 0, 0, 0, 0, missing)) if missing else counts


def _array(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.cpu().numpy()
    return array


def _key(sentence: Sentence) -> int:
    """The sentence in the resampling: by place and words, since sentences may come twice."""
    place = sentence.name.rpartition("/")[2]
    seen = hashlib.sha256(repr((place, sentence.words)).encode(errors="replace"))
    return int.from_bytes(seen.digest()[:8], "little", signed=True)
