"""Attention heads as resolvers of coreference (Clark et al. 2019, Section 4.3, Table 2)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.batch_runner import head_mask
from headlight.analysis.plan import Pass, check_repeatable
from headlight.analysis.variables import described, with_slots
from headlight.analysis.word_study import WordStudy
from headlight.capture import AttentionSite, CapturedModel, Objective
from headlight.encode.batch import Batch
from headlight.errors import setting
from headlight.reduce import Tally
from headlight.result import Description
from headlight.run import State
from headlight_papers.corpora import CoreferenceDocument, open_coreference
from headlight_papers.corpora.spans import documents
from headlight_papers.studies.coreference import CoreferenceSettings
from headlight_papers.studies.coreference.observer import (
    DIRECTIONS,
    MENTION_KINDS,
    AntecedentObserver,
    best_sentences,
)
from headlight_papers.studies.coreference.sieves import BASELINES
from headlight_papers.studies.coreference.task import AntecedentExample, AntecedentExamples

_HEADS = ("measure", "layer", "head", "direction", "mention_kind")
_BASELINES = ("baseline", "mention_kind")

VARIABLES: dict[str, Description] = {
    "correct": ("mentions whose antecedent is found", "1"),
    "accuracy": ("share of the mentions whose antecedent is found", "1", "share"),
    "count": ("mentions asked about", "1"),
    "baseline_correct": ("mentions whose antecedent the baseline finds", "1"),
    "baseline_accuracy": (
        "share of the mentions whose antecedent the baseline finds",
        "1",
        "share",
    ),
}
"""Long name and unit of every variable."""


def to_dataset(
    tally: Tally,
    sites: Sequence[AttentionSite],
    measures: Sequence[str],
) -> xarray.Dataset:
    """Named arrays of what a pass has counted.

    Args:
        tally: What the observers counted, merged.
        sites: The layers, in the order in which they were observed.
        measures: In the order in which they were observed.
    """
    found = tally.compute()
    correct, baseline = found["correct"], found["baseline"]
    count = baseline["whole"].sum(0)[0]
    there = head_mask(measures, [site.heads for site in sites])[..., None, None]
    accuracy = np.where(there, correct["mean"], np.nan)
    variables = {
        "correct": (_HEADS, np.where(there, _counted(accuracy, count), np.nan)),
        "count": ("mention_kind", count),
        "baseline_correct": (_BASELINES, _counted(baseline["mean"], count)),
        **with_slots("accuracy", _HEADS, accuracy, {**correct, "mean": accuracy}),
        **with_slots("baseline_accuracy", _BASELINES, baseline["mean"], baseline),
    }
    coordinates = {
        "measure": list(measures),
        "layer": [site.layer for site in sites],
        "head": list(range(max(site.heads for site in sites))),
        "direction": list(DIRECTIONS),
        "mention_kind": list(MENTION_KINDS),
        "baseline": list(BASELINES),
    }
    return described(variables, coordinates, VARIABLES)


def _counted(
    accuracy: Float64[np.ndarray, "*cell kind"], count: Float64[np.ndarray, " kind"]
) -> Float64[np.ndarray, "*cell kind"]:
    """Return how many are right of this many."""
    right: Float64[np.ndarray, "*cell kind"] = np.rint(np.nan_to_num(accuracy) * count)
    return right


class CoreferenceStudy(WordStudy[CoreferenceSettings]):
    """Accuracy of each head at linking a mention to an antecedent, beside three baselines.

    "What percent of the time does the head word of a coreferent mention most attend to the head of
    one of that mention's antecedents" (Clark et al. 2019, Section 4.3).  Attention is taken between
    whole words (Section 4.1), special tokens left out.  What the paper leaves open is in the
    settings; by default heads and baselines are on a par: both pick among the mentions before.

    Its result has ``correct`` and ``accuracy`` by measure, layer, head, direction (who attends: the
    ``mention`` or the ``antecedent``) and kind of mention; ``count``; and the same of the
    baselines.  Accuracies are between 0 and 1, intervals over documents.  Attributes count
    documents, windows and mentions, also those left out.
    `headlight_papers.findings.systems_table` makes Table 2 of it.

    Args:
        source: what `headlight_papers.corpora.open_coreference` takes: a path, a pattern, or
            documents that can be iterated again.
        model: the model.
        settings: see `CoreferenceSettings`.
        objective: the loss of which the ``gradient`` is taken, in a pass of its own; by default
            that of what the model was trained for.
    """

    name = "coreference"
    title = "Heads as resolvers of coreference"
    settings_class = CoreferenceSettings

    def __init__(
        self,
        source: str | Path | Iterable[CoreferenceDocument],
        model: CapturedModel,
        settings: CoreferenceSettings,
        objective: Objective | None = None,
    ) -> None:
        self.settings = settings
        corpus = open_coreference(source, format=settings.format, invalid=settings.invalid)
        corpus = check_repeatable(corpus.take(settings.max_examples))
        self.corpus = corpus

        def encode_windows(tokenizer: Any, longest: int) -> AntecedentExamples:
            windows = documents(
                corpus,
                tokenizer,
                max_length=longest,
                overlap=settings.overlap,
                unencodable=settings.unencodable,
            )
            return AntecedentExamples(windows, settings)

        if_empty = (
            f"has it mentions with an antecedent, and is {setting('max_length')} large enough for "
            "both?"
        )
        self.plan = self.plan_measures(corpus, model, settings, objective, encode_windows, if_empty)

    def observe(
        self, one: Pass, batch: Batch, examples: Sequence[AntecedentExample]
    ) -> AntecedentObserver:
        """Looks which mentions heads point at, by the measures of the pass."""
        return AntecedentObserver(batch, examples, self.plan.sites, self.settings, one.measures)

    def dataset(self, one: Pass, state: State) -> xarray.Dataset:
        """Accuracies, and passages in which the best heads are right."""
        counts = {"documents": self.plan.examples.counts.documents, "invalid": self.corpus.skipped}
        found = to_dataset(state.tally, self.plan.sites, one.measures)
        if self.settings.sentences:
            found = found.merge(best_sentences(found, self.plan, self.settings, one))
        return found.assign_attrs(counts)  # those of before passages were read again


run = CoreferenceStudy.run
