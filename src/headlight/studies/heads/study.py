"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import xarray

from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_repeatable,
    plan_passes,
    required_objective,
)
from headlight.analysis.text_study import LossStudy
from headlight.capture import CapturedModel, Kind, Objective, default_objective
from headlight.catalogue.statistics import rows_of_others, statistic_table
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.categories import word_ids
from headlight.reduce import Tally
from headlight.studies.heads import SurveySettings, parts
from headlight.studies.heads.observer import HeadsObserver
from headlight.studies.heads.part import Outcome, Subject
from headlight.studies.heads.ranks import Known
from headlight.vocabulary import measures_that_need


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
        if plan.corpus is not None and (len(plan.passes) > 1 or "ranks" in settings.numbers):
            check_repeatable(plan.corpus)
        if "ranks" not in settings.numbers:
            return
        known = {kind: Known.of(part, settings) for kind, part in kinds.items()}
        self._known = {kind: {"ranks": each} for kind, each in known.items()}
        depends = {str(kind): each.signature() for kind, each in known.items()}
        options = {**plan.options, **(depends if plan.all_kinds else depends[plan.kind])}
        # Pairs are counted key by key, which needs all queries of a layer at once.
        self.plan = replace(plan, options=options, query_block=0)

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
        known = self._known[plan.kind]
        return parts.observe(Subject(plan, one, settings, batch, examples, words, known))

    @cached_property
    def _words(self) -> dict[str, tuple[int, ...]]:
        """Ids of the words of each class."""
        return words_of(self.model)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by head, and passages."""
        known = self._known[plan.kind]
        return parts.dataset(Outcome(plan, plan.passes[0], self.settings, tally, known))


def words_of(model: CapturedModel) -> dict[str, tuple[int, ...]]:
    """Return ids of the words of each class that the table of statistics has.

    There are none where tokens have no names.
    """
    if model.tokenizer is None:
        return {}
    rows = (row for row in statistic_table() if row.words)
    return {row.name: word_ids(model.tokenizer, row.words) for row in rows}


run = SurveyStudy.run
