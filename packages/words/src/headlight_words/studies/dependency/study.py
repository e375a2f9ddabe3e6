"""Heads as parsers: how often the word a head attends to most is the governor, or the dependent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from jaxtyping import Bool, Float64

from headlight.capture import AttentionSite, Objective
from headlight.corpora import PUNCTUATION_RELATION, Sentence
from headlight.encode import EncodedSentence, Examples, sentences as encode_sentences
from headlight.encode.batch import Batch
from headlight.engine.plan import StudyPlan
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.errors import setting
from headlight.observations.layer_arrays import head_mask
from headlight.observations.variables import described, with_slots
from headlight.reduce import Tally, of_sums, share
from headlight.result import Description
from headlight_words.corpora import open_treebank
from headlight_words.findings.dependency import ALL, base_relation
from headlight_words.studies.dependency import DependencySettings
from headlight_words.studies.dependency.gold import DIRECTIONS, OFFSETS, summarize
from headlight_words.studies.dependency.observer import DependencyObserver, best_sentences
from headlight_words.word_plan import plan_word_study

VARIABLES: dict[str, Description] = {
    "correct": ("words whose governor is found", "1"),
    "accuracy": ("share of the words whose governor is found", "1", "share"),
    "uas_without_punctuation": ("accuracy over all words that are no punctuation", "1"),
    "count": ("words asked about", "1"),
    "offset_correct": ("words whose governor is at the offset", "1"),
    "offset_accuracy": ("share of the words whose governor is at the offset", "1", "share"),
    "gain": ("accuracy less that of the best offset", "1"),
    "right_branching": ("accuracy of the right-branching baseline", "1"),
    "same_part": (
        "share of what a word gives to others that goes to its part of speech",
        "1",
        "share",
    ),
    "same_part_even": ("the same where each word gives as much to all others", "1"),
}
"""Long name and unit of every variable."""

_CELL = ("measure", "layer", "head", "direction")


def to_dataset(
    tally: Tally,
    settings: DependencySettings,
    measures: Sequence[str],
    relations: Sequence[str],
    sites: Sequence[AttentionSite],
) -> xarray.Dataset:
    """Return named arrays of the counts of a pass."""
    statistics = tally.compute()
    count = statistics["right_branching"]["whole"]
    names = np.array(relations)
    order = _order(names, count.sum(0))
    counts = {
        name: _add_total(statistics[name]["part"][..., order])
        for name in ("correct", "offset", "right_branching")
    }
    exists = head_mask(measures, [site.heads for site in sites])
    plain = np.array(
        [base_relation(name) != PUNCTUATION_RELATION for name in names[order]], dtype=float
    )
    sentences, words, cut, lost = map(int, tally["sentences"].compute()["total"])
    variables = _variables(
        counts | {"count": _add_total(count[..., order])},
        statistics["correct"]["units"],
        exists[..., None, None],
        plain,
    )
    variables |= with_slots(
        "same_part", _CELL[:3], statistics["same_part"]["mean"], statistics["same_part_slots"]
    )
    variables["same_part_even"] = "layer", statistics["same_part_even"]["mean"]
    coordinates = {
        "measure": list(measures),
        "layer": [site.layer for site in sites],
        "head": list(range(exists.shape[2])),
        "direction": list(DIRECTIONS),
        "relation": [ALL, *names[order]],
        "offset": list(OFFSETS[settings.offsets]),
    }
    numbers = {"sentences": sentences, "words": words, "cut_words": cut, "lost_words": lost}
    return described(variables, coordinates, VARIABLES).assign_attrs(numbers)


def _variables(
    counts: Mapping[str, np.ndarray],
    units: Float64[np.ndarray, " slot"],
    exists: Bool[np.ndarray, "measure layer head 1 1"],
    plain: Float64[np.ndarray, " relation"],
) -> dict[str, Any]:
    """Return all arrays, with their axes, from the counts of every block of the corpus."""
    totals = {name: by_block.sum(0) for name, by_block in counts.items()}
    count, offset = totals["count"], totals["offset"]
    correct = np.where(exists, totals["correct"], np.nan)
    accuracy, of_offset = share(correct, count), share(offset, count)
    unpunctuated = share(correct[..., 1:] @ plain, np.asarray(count[1:] @ plain))
    of_heads = np.where(exists, counts["correct"], np.nan)
    whole = counts["count"][:, None]
    of_words = whole[:, None, None, None]
    axes = (*_CELL, "relation")
    return {
        "correct": (axes, correct),
        **with_slots("accuracy", axes, accuracy, of_sums(of_heads, of_words, units)),
        "uas_without_punctuation": (_CELL, unpunctuated),
        "count": ("relation", count),
        "offset_correct": (("offset", "relation"), offset),
        **with_slots(
            "offset_accuracy",
            ("offset", "relation"),
            of_offset,
            of_sums(counts["offset"], whole, units),
        ),
        "gain": (axes, accuracy - of_offset.max(axis=0)),
        "right_branching": ("relation", share(totals["right_branching"], count)),
    }


def _order(names: np.ndarray, count: np.ndarray) -> np.ndarray:
    # Equal counts are ordered by name, so that the order is the same in every run.
    order = np.lexsort((names, -count))
    return order[count[order] > 0]


def _add_total(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([counts.sum(axis=-1, keepdims=True), counts], axis=-1)


class DependencyStudy(CorpusStudy[DependencySettings]):
    """Accuracy of every head, in both directions, at finding the governor of a word, by relation.

    The treebank is read twice, once for its relations and once through the model; a third time, and
    backward, for the ``gradient``.

    Its result has the accuracy of every measure, layer, head, direction and relation, the
    baselines, and the counts; `headlight_words.findings.dependency.best_heads` makes
    Table 1 of it.

    Args:
        source: Treebank, as `headlight_words.corpora.open_treebank` takes it: a path, a pattern, or
            sentences that can be iterated more than once.
        model: Model whose heads are evaluated.
        settings: Settings of the study.
        objective: Loss whose ``gradient`` is taken, in a pass of its own; by default that of the
            model's training.

    Source: Clark et al. (2019), Section 4.2, Table 1 and Figure 5, and their notebook.
    """

    name = "dependency"
    title = "Heads as parsers"
    settings_class = DependencySettings

    def make_plan(
        self, source: str | Path | Iterable[Sentence], objective: Objective | None
    ) -> StudyPlan[EncodedSentence]:
        """Plan a pass for all measures, and one for the gradient."""
        settings = self.settings
        treebank = open_treebank(source, format=settings.format, invalid=settings.invalid)
        treebank = check_repeatable(treebank.take(settings.max_examples))

        def encode(tokenizer: Any, longest: int) -> Examples[EncodedSentence]:
            return encode_sentences(
                treebank,
                tokenizer,
                max_length=longest,
                overflow=settings.overflow,
                unencodable=settings.unencodable,
            )

        plan = plan_word_study(
            self.name,
            self.title,
            treebank,
            self.model,
            settings,
            objective,
            encode,
            if_empty=f"are all its sentences longer than {setting('max_length')}?",
        )
        self.summary = summarize(treebank, settings.relations)
        self.codes = {name: number for number, name in enumerate(self.summary.relations)}
        return replace(plan, options={"trees": self.summary.digest})

    def observe(
        self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[EncodedSentence]
    ) -> DependencyObserver:
        """Return the observer of a batch, by the measures of the pass."""
        measures = plan.passes[0].measures
        return DependencyObserver(batch, examples, plan.sites, self.settings, measures, self.codes)

    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return accuracies, and sentences in which the best heads are right."""
        settings, relations, model_pass = self.settings, self.summary.relations, plan.passes[0]
        result = to_dataset(state.tally, settings, model_pass.measures, relations, plan.sites)
        if settings.sentences:
            result = result.merge(best_sentences(result, plan, settings, self.codes, model_pass))
        return result.assign_attrs(
            trees_digest=self.summary.digest, invalid=state.counts.get("invalid", 0)
        )


run = DependencyStudy.run_with_objective
