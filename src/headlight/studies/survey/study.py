"""The survey of a corpus, and the numbers of one text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_repeatable,
    plan_passes,
    required_objective,
)
from headlight.analysis.text_study import LossStudy
from headlight.capture import (
    AttentionSite,
    CapturedModel,
    Kind,
    LayerRecord,
    Objective,
    default_objective,
)
from headlight.catalogue.statistics import rows_of_others, statistic_table
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.examples import word_ids
from headlight.findings.statistics import OF_READING, ROWS_OF_READING, count_rows, statistics_of
from headlight.reduce import Tally
from headlight.studies.survey import SurveySettings, parts
from headlight.studies.survey.deciles import highest_hash
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome, Subject
from headlight.studies.survey.ranks import Known
from headlight.vocabulary import PER_HEAD, ValueBias, measure_table, measures_that_need

LONG_TEXT = 512
"""Tokens of a text from which on its sums come from compiled loops, as those of a corpus do."""


class SurveyStudy(LossStudy[SurveySettings]):
    """Statistics of every head on a corpus, by raw weights, vector norms and effective attention.

    Its statistics are those of the documentation of results.
    """

    name = "survey"
    title = "Survey of attention"
    settings_class = SurveySettings

    def prepare(self) -> None:
        """Read the corpus for what has to be known before ranks are compared."""
        if others := rows_of_others():  # a run goes on with the rows that it began with
            options = {**self.plan.options, "statistics": others}
            self.plan = replace(self.plan, options=options)
        plan, settings = self.plan, self.settings
        kinds = plan.by_kind()
        self._known: dict[Kind, dict[str, Any]] = {kind: {} for kind in kinds}
        self.plan = replace(self.plan, begin_shard=self._draw)
        if plan.corpus is not None and (len(plan.passes) > 1 or "ranks" in settings.numbers):
            check_repeatable(plan.corpus)
        if "ranks" not in settings.numbers:
            return
        known_by_kind = {kind: Known.of(part, settings) for kind, part in kinds.items()}
        for kind, each in known_by_kind.items():
            self._known[kind]["ranks"] = each
        depends = {str(kind): each.signature() for kind, each in known_by_kind.items()}
        options = {**plan.options, **(depends if plan.all_kinds else depends[plan.kind])}
        # Pairs are counted key by key, which needs all queries of a layer at once.
        self.plan = replace(self.plan, options=options, query_block=0)

    def _draw(self, shard: Sequence[Encoded]) -> None:
        """Choose the texts of a shard that may be drawn, the same for every worker."""
        for kind, known in self._known.items():
            known["drawn"] = highest_hash(shard, kind)

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures of the settings."""
        return self.settings.measures

    def choose_passes(self, objective: Objective | None) -> tuple[Pass, ...]:
        """All measures in one pass, in which all look at what the loss lets be seen.

        What depends on the loss has a pass of its own, unless that one has a loss already.
        """
        settings, measures = self.settings, self.measures
        wanted = "importance" in settings.numbers
        chosen = objective
        if wanted and chosen is None:
            chosen = default_objective(self.model, seed=settings.seed)
        backward = bool(measures_that_need("gradient", measures)) or not wanted
        of_measures = chosen if backward else None
        of_measures = required_objective(self.model, measures, of_measures, settings.seed)
        first = plan_passes(measures, of_measures, settings.attribution, together=True)
        return (*first, Pass(objective=chosen, folder="loss")) if not backward else first

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> HeadsObserver:
        """Looks at every layer, by all parts."""
        one, settings, words = plan.passes[0], self.settings, self._words
        corpus_knowledge = self._known[plan.kind]
        return parts.observe(Subject(plan, one, settings, batch, examples, words, corpus_knowledge))

    @cached_property
    def _words(self) -> dict[str, tuple[int, ...]]:
        """Ids of the words of each class."""
        return words_of(self.model)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by head, and passages."""
        corpus_knowledge = self._known[plan.kind]
        return parts.dataset(Outcome(plan, plan.passes[0], self.settings, tally, corpus_knowledge))


def words_of(model: CapturedModel) -> dict[str, tuple[int, ...]]:
    """Return ids of the words of each class that the table of statistics has.

    There are none where tokens have no names.
    """
    if model.tokenizer is None:
        return {}
    rows = (row for row in statistic_table() if row.words)
    return {row.name: word_ids(model.tokenizer, row.words) for row in rows}


run = SurveyStudy.run


@dataclass(frozen=True)
class _Alone:
    """One example, of which nothing was left out."""

    example: Encoded
    counts: None = None

    def __iter__(self) -> Iterator[Encoded]:
        yield self.example


class TextStatistics:
    """Sees the layers of one text, as a survey of that text would; `variables` are its numbers.

    Args:
        model: that reads the text.
        example: the text.
        kind: of attention.
        sites: its modules.
        value_bias: value bias in T of effective attention.
    """

    def __init__(
        self,
        model: CapturedModel,
        example: Encoded,
        kind: Kind,
        sites: Sequence[AttentionSite],
        value_bias: ValueBias,
    ) -> None:
        measures = tuple(
            row.name for row in measure_table() if row.axes == PER_HEAD and row.needs is None
        )
        self._measures = measures
        self._settings = SurveySettings(value_bias=value_bias, measures=measures)
        self._plan = StudyPlan(
            "survey", "", "", model, kind, sites, _Alone(example), self._settings, (Pass(measures),)
        )
        self._observer = self._observe(example)

    def _observe(self, example: Encoded) -> HeadsObserver:
        """Return the observer of one text: rows and behaviours, without numbers of a corpus."""
        plan, (one,) = self._plan, self._plan.passes
        batch = plan.model.collate([example])
        words = words_of(plan.model)
        subject = Subject(plan, one, self._settings, batch, [example], words)
        behaviours = parts.observe_behaviours(subject)
        bias = self._settings.value_bias
        # Of a short text, loading what compiles loops takes longer than all sums.
        compiled = batch.input_ids.shape[1] >= LONG_TEXT
        about = self._measures, (behaviours,)
        return HeadsObserver(*subject.sides, plan.kind, bias, *about, compiled=compiled)

    def visit(self, record: LayerRecord) -> None:
        """Look at some queries of a layer."""
        self._observer.visit(record)

    def variables(self, heads: Collection[int]) -> tuple[dict[str, Any], Mapping[str, list[str]]]:
        """Return the variables of a reading, and the coordinates of their own axes.

        Args:
            heads: which are kept.
        """
        plan, (one,) = self._plan, self._plan.passes
        result = parts.dataset(Outcome(plan, one, self._settings, self._observer.tally()))
        result.attrs["kind"] = plan.kind
        rows = statistics_of(result)
        axes = {"statistic": [row.name for row, _ in rows], "measure": [*self._measures, ""]}
        kept_heads = [head for head in heads if head < result.sizes["head"]]
        shape = (len(rows), len(axes["measure"]), result.sizes["layer"], len(heads))
        numbers: NDArray[np.float64] = np.full(shape, np.nan)
        for place, (_, by) in enumerate(rows):
            for name, each in by.items():
                values = numbers[place, axes["measure"].index(name)]
                values[:, : len(kept_heads)] = each.value[:, kept_heads]
        counts = [(count_rows(result, row) or (0, 0))[0] for row, _ in rows]
        about = {"long_name": "statistics of the heads in this text", "units": ""}
        return {
            OF_READING: (("statistic", "measure", "layer", "head"), numbers, about),
            ROWS_OF_READING: (
                "statistic",
                counts,
                {"long_name": "rows of attention", "units": "1"},
            ),
        }, axes
