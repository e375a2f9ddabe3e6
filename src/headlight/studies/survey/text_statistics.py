"""Statistics of the heads in one text, as in a survey of that text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.capture import AttentionSite, CapturedModel, Kind, LayerRecord
from headlight.encode import Encoded
from headlight.engine.plan import Pass, StudyPlan
from headlight.findings.statistics import OF_READING, ROWS_OF_READING, count_rows, statistics_of
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.head_behaviours.counted_keys import words_of
from headlight.studies.survey.head_behaviours.induction_and_sinks import observe_behaviours
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome, Subject
from headlight.studies.survey.study import dataset
from headlight.vocabulary import PER_HEAD, ValueBias, measure_table

LONG_TEXT = 512
"""Smallest number of tokens of a text whose sums come from compiled loops, as for a corpus."""


@dataclass(frozen=True)
class _Alone:
    """Examples of a plan that are a single one, without counts of left-out texts."""

    example: Encoded
    counts: None = None

    def __iter__(self) -> Iterator[Encoded]:
        yield self.example


class TextStatistics:
    """Observer of the layers of one text, with the statistics of a survey of that text.

    Args:
        model: Model that reads the text.
        example: Text, encoded.
        kind: Kind of attention.
        sites: Attention modules of this kind.
        value_bias: Treatment of the value bias in T of effective attention.
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
        """Return the observer of rows and behaviours, without statistics that need a corpus."""
        plan, (model_pass,) = self._plan, self._plan.passes
        batch = plan.model.collate([example])
        words = words_of(plan.model)
        subject = Subject(plan, model_pass, self._settings, batch, [example], words)
        behaviours = observe_behaviours(subject)
        bias = self._settings.value_bias
        # For a short text, loading the compiler of loops takes longer than all sums.
        compiled = batch.input_ids.shape[1] >= LONG_TEXT
        about = self._measures, (behaviours,)
        return HeadsObserver(*subject.sides, plan.kind, bias, *about, compiled=compiled)

    def visit(self, record: LayerRecord) -> None:
        """Observe some queries of a layer."""
        self._observer.visit(record)

    def variables(self, heads: Collection[int]) -> tuple[dict[str, Any], Mapping[str, list[str]]]:
        """Return the variables of a reading, and the coordinates of their own axes.

        Args:
            heads: Numbers of the heads to keep.
        """
        plan, (model_pass,) = self._plan, self._plan.passes
        self._observer.to_host()
        result = dataset(Outcome(plan, model_pass, self._settings, self._observer.tally()))
        result.attrs["kind"] = plan.kind
        rows = statistics_of(result)
        axes = {"statistic": [row.name for row, _ in rows], "measure": [*self._measures, ""]}
        kept_heads = [head for head in heads if head < result.sizes["head"]]
        shape = (len(rows), len(axes["measure"]), result.sizes["layer"], len(heads))
        numbers: NDArray[np.float64] = np.full(shape, np.nan)
        for place, (_, by) in enumerate(rows):
            for name, estimate in by.items():
                values = numbers[place, axes["measure"].index(name)]
                values[:, : len(kept_heads)] = estimate.value[:, kept_heads]
        counts = [(count_rows(result, row) or (0, 0))[0] for row, _ in rows]
        of_numbers = {"long_name": "statistics of the heads in this text", "units": ""}
        of_rows = {"long_name": "rows of attention", "units": "1"}
        return {
            OF_READING: (("statistic", "measure", "layer", "head"), numbers, of_numbers),
            ROWS_OF_READING: ("statistic", counts, of_rows),
        }, axes
