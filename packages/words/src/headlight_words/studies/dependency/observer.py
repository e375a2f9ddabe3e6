"""Observer of how often each head finds the governor of a word."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float, Int16, Int64
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord
from headlight.capture.one_text import capture_one
from headlight.corpora import Sentence
from headlight.encode import EncodedSentence
from headlight.encode.batch import Batch
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.measures import Scores, word_score
from headlight.observations.layer_arrays import array, moments
from headlight.observations.text_ids import units_of
from headlight.pool import Words
from headlight.reduce import Accumulator, Count, Slots, Tally
from headlight_words.example_sentences import LONGEST, Shown, sentences_dataset
from headlight_words.findings.dependency import best_heads
from headlight_words.studies.dependency import DependencySettings
from headlight_words.studies.dependency.gold import (
    DIRECTIONS,
    Pairs,
    WordScore,
    candidates,
    count_by_relation,
    gold_of,
    is_correct,
    predict,
    predict_by_offset,
    predict_right_branching,
)


@dataclass(eq=False, repr=False)
class DependencyObserver(Observer):
    """Observer of the attention of a batch, which counts the relations found in each sentence.

    Attributes:
        batch: Batch that the model reads.
        examples: Examples of the batch, with their trees.
        sites: Layers that are observed.
        settings: Settings of the study.
        measures: Measures of the settings that this pass of the model has.
        codes: Number of every relation.
    """

    batch: Batch
    examples: Sequence[EncodedSentence]
    sites: Sequence[AttentionSite]
    settings: DependencySettings
    measures: Sequence[str]
    codes: Mapping[str, int]
    _given: dict[tuple[str, int], Float[Tensor, "batch head"]] = field(
        default_factory=dict, init=False
    )
    _even: dict[int, Float[Tensor, " batch"]] = field(default_factory=dict, init=False)
    _correct: dict[tuple[str, int], Int16[Tensor, "batch head direction relation"]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._sentences = [example.sentence for example in self.examples]
        self._words = Words.of(self.batch.word, queries=self.settings.queries)
        self.gold = gold_of(
            self._sentences,
            [example.kept for example in self.examples],
            self.codes,
            naming=self.settings.relations,
            possessive=self.settings.possessive,
            device=self.batch.word.device,
        )
        self._candidates = candidates(self.gold.present)
        self._same = same_part_of_speech(self._sentences, self._candidates)

    def visit(self, record: LayerRecord) -> None:
        """Observe one layer, of which only counts and shares are kept."""
        for measure, predicted in self.predictions(record).items():
            counts = self._count(predicted).to(torch.int16)
            self._correct[measure, record.site.layer] = counts

    def predictions(
        self, record: LayerRecord
    ) -> dict[str, Int64[Tensor, "batch head direction word"]]:
        """Return the governor that each head predicts for each word, by measure."""
        scores = Scores(record, self.settings.value_bias, precision=torch.float32)
        allowed, layer, predictions = self._allowed(record), record.site.layer, {}
        for measure in self.measures:
            score = self._score(scores, measure)
            predictions[measure] = predict(score, allowed)
            same_share = mean_share(score.float(), self._same, allowed)
            self._given[measure, layer], self._even[layer] = same_share
        return predictions

    def tally(self) -> Tally:
        """Return counts of the batch by blocks of the corpus."""
        gold, settings = self.gold, self.settings
        offsets = self._count(predict_by_offset(gold, settings.offsets))
        branching = self._count(predict_right_branching(gold))
        units, words = units_of(self.examples), gold.members.sum(1).cpu().numpy()
        counts = {
            "correct": (self._count_correct(), words[:, None, None, None, None]),
            "offset": (offsets.cpu().numpy(), words[:, None]),
            "right_branching": (branching[:, 0].cpu().numpy(), words),
        }
        sums = {name: Slots.of(units, *parts) for name, parts in counts.items()}
        return Tally({**sums, **self._same_part(units), "sentences": self._kept()})

    def _same_part(self, units: Int64[np.ndarray, " text"]) -> dict[str, Accumulator]:
        """Accumulate the share of attention to words of the same part of speech, by sentence."""
        heads = max(site.heads for site in self.sites)
        shape = (len(self._sentences), len(self.measures), len(self.sites), heads)
        shares = np.full(shape, np.nan)
        for row, measure in enumerate(self.measures):
            for column, site in enumerate(self.sites):
                part = array(self._given[measure, site.layer])
                shares[:, row, column, : part.shape[1]] = part
        even = np.stack([array(self._even[site.layer]) for site in self.sites], axis=1)
        blocks = Slots.of(units, shares)
        return {
            "same_part": moments(shares),
            "same_part_slots": blocks,
            "same_part_even": moments(even),
        }

    def _count(
        self, predicted: Int64[Tensor, "batch *any word"]
    ) -> Float[Tensor, "batch *any relation"]:
        return count_by_relation(is_correct(predicted, self.gold), self.gold)

    def _count_correct(self) -> Int16[np.ndarray, "batch measure layer head direction relation"]:
        """Return counts of all layers; heads that a layer lacks have 0."""
        heads = max(site.heads for site in self.sites)
        axes = (len(self.measures), len(self.sites), heads, len(DIRECTIONS), self.gold.relations)
        correct = np.zeros((len(self._sentences), *axes), dtype=np.int16)
        for row, measure in enumerate(self.measures):
            for column, site in enumerate(self.sites):
                counts = self._correct[measure, site.layer].cpu().numpy()
                correct[:, row, column, : counts.shape[1]] = counts
        return correct

    def _score(self, scores: Scores, measure: str) -> WordScore:
        """Return a measure between the words of the sentence; words cut in two are left out."""
        score = word_score(scores, measure, self._words, self.settings.pooling)
        width = self._candidates.shape[1]
        missing = max(width - score.shape[-1], 0)
        return torch.nn.functional.pad(score, (0, missing, 0, missing))[..., :width, :width]

    def _allowed(self, record: LayerRecord) -> Pairs:
        """Return pairs of words of which one may attend to the other by at least one piece.

        Where not all queries see the same keys, under a causal mask or a window, weights of exactly
        0 would be compared with effective ones below 0.
        """
        if record.visible is None or record.visible.shape[1] == 1:
            return self._candidates
        pooled = self._words.pool(record.visible[:, None].float())[:, 0]
        return self._candidates & (pooled > 0)

    def _kept(self) -> Count:
        """Count sentences, words, words whose governor was cut off, and words that were cut off."""
        gold = self.gold
        ones = torch.ones_like(gold.cut)
        counts = Count((4,))
        rows = torch.stack([ones, gold.lengths, gold.cut, gold.lost], dim=1)
        counts.update(rows.cpu().numpy())
        return counts


def same_part_of_speech(sentences: Sequence[Sentence], possible: Pairs) -> Pairs:
    """Return the pairs of words that have the same tag, the universal tag where there are two.

    Args:
        sentences: Sentences of a batch; those without tags have no such pairs.
        possible: Mask of pairs of two different words, padding left out.
    """
    codes: dict[str, int] = {}
    tags = torch.full(possible.shape[:2], -1, device=possible.device)
    for row, sentence in zip(tags, sentences, strict=True):
        names = (sentence.upos or sentence.xpos)[: len(row)]
        numbers = [codes.setdefault(name, len(codes)) for name in names]
        row[: len(numbers)] = torch.tensor(numbers, dtype=row.dtype, device=row.device)
    return possible & (tags[:, :, None] == tags[:, None]) & (tags[:, :, None] >= 0)


def mean_share(
    score: WordScore, same: Pairs, allowed: Pairs
) -> tuple[Float[Tensor, "batch head"], Float[Tensor, " batch"]]:
    """Return the share of a word's weight on other words that goes to words of its part of speech.

    It is the mean over the words that may attend to another of their part of speech; the absolute
    values of scores are taken.

    Args:
        score: Score between words; the first attends.
        same: Mask of pairs of the same part of speech.
        allowed: Mask of pairs of which the first may attend to the second.

    Returns:
        The share of each head, from 0 to 1; and the share if each word gave the same to all others.
        NaN where there is no such word.
    """
    same = same & allowed
    in_question = same.any(-1)
    number = in_question.sum(-1).to(score.dtype)
    weights = score.abs() * allowed[:, None]
    tiny = torch.finfo(score.dtype).tiny
    shares = (weights * same[:, None]).sum(-1) / weights.sum(-1).clamp_min(tiny)
    even = same.sum(-1).to(score.dtype) / allowed.sum(-1).clamp_min(1)
    of_heads = (shares * in_question[:, None]).sum(-1) / number[:, None]
    return of_heads, (even * in_question).sum(-1) / number


READ, LOOKED_AT = 40, 400
"""Short sentences that are read once more, and sentences among which they are searched for."""

VARIABLES = {
    "sentence_word": ("word of a sentence in which the best head finds the relation", "1"),
    "sentence_found": ("place of the governor that it predicts for a word of the relation", "1"),
    "sentence_right": ("whether that is the governor", "1"),
}
"""Long name and unit of every variable."""


def best_sentences(
    result: xarray.Dataset,
    plan: StudyPlan[EncodedSentence],
    settings: DependencySettings,
    codes: Mapping[str, int],
    model_pass: Pass,
) -> xarray.Dataset:
    """Return a sentence in which the best head finds a relation, by measure and relation.

    The first short sentences are read once more, one by one, when it is known which heads are best;
    a relation that is found in none of them has no sentence.

    Args:
        result: Result of the pass.
        plan: Plan of the study.
        settings: Settings of the study.
        codes: Number of every relation.
        model_pass: Pass of the model; passes that do not run forward alone have no sentences.
    """
    best = []
    if model_pass.forward_alone:
        best = best_heads(result, min_count=1).query("relation in @codes").to_dict("records")
    layers = {row["layer"] for row in best}
    sites = [site for site in plan.sites if site.layer in layers]
    best_shown: dict[tuple[str, str], Shown] = {}
    for example in _short(plan) if best else ():
        for row, sentence in _seen(example, plan, sites, settings, codes, best):
            at = row["measure"], row["relation"]
            if sentence.better_than(best_shown.get(at)):
                best_shown[at] = sentence
    return sentences_dataset(best_shown, result, "relation", VARIABLES)


def _short(plan: StudyPlan[EncodedSentence]) -> Iterator[EncodedSentence]:
    first = islice(plan.examples, LOOKED_AT)
    return islice((example for example in first if len(example.sentence) <= LONGEST), READ)


def _seen(
    example: EncodedSentence,
    plan: StudyPlan[EncodedSentence],
    sites: Sequence[AttentionSite],
    settings: DependencySettings,
    codes: Mapping[str, int],
    best: Sequence[dict[Any, Any]],
) -> Iterator[tuple[dict[Any, Any], Shown]]:
    """Yield the predictions of each of the best heads for a sentence that has its relation."""
    measures = list(dict.fromkeys(row["measure"] for row in best))
    batch = plan.model.collate([example])
    observer = DependencyObserver(batch, [example], sites, settings, measures, codes)
    gold = observer.gold

    def look(record: LayerRecord) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
        predictions = {
            measure: (governors[0].cpu().numpy(), is_correct(governors, gold)[0].cpu().numpy())
            for measure, governors in observer.predictions(record).items()
        }
        return record.site.layer, predictions

    by_layer = dict(capture_one(plan.model, example, sites, look))
    relation = gold.relation[0].cpu().numpy()
    for row in best:
        mask = relation == codes[row["relation"]]
        if mask.any():
            at = row["head"], DIRECTIONS.index(row["direction"])
            heads, right = (part[at] for part in by_layer[row["layer"]][row["measure"]])
            yield (
                row,
                Shown.from_prediction(example.sentence.words[: example.kept], mask, heads, right),
            )
