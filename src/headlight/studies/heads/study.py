"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence
from functools import cached_property

import xarray

from headlight.analysis.plan import Pass, StudyPlan, plan_passes, required_objective
from headlight.analysis.text_study import LossStudy
from headlight.capture import Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.function_words import function_word_ids
from headlight.reduce import Tally
from headlight.studies.heads import SurveySettings, parts
from headlight.studies.heads.observer import HeadsObserver
from headlight.studies.heads.part import Outcome, Subject


class SurveyStudy(LossStudy[SurveySettings]):
    """What raw weights, vector norms and effective attention say about every head, on a corpus.

    Its statistics are those of the documentation of results.
    """

    name = "survey"
    title = "Survey of attention"
    settings_class = SurveySettings

    @property
    def measures(self) -> tuple[str, ...]:
        """Those of the settings."""
        return self.settings.measures

    def choose_pass(self, objective: Objective | None) -> Pass:
        """All measures in one pass, in which all look at what the loss lets be seen."""
        objective = required_objective(self.model, self.measures, objective, self.settings.seed)
        asked = self.settings.attribution
        return plan_passes(self.measures, objective, asked, together=True)[0]

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> HeadsObserver:
        """Looks at every layer, by all parts."""
        one, settings = plan.passes[0], self.settings
        return parts.observe(Subject(plan, one, settings, batch, examples, self._function_words))

    @cached_property
    def _function_words(self) -> tuple[int, ...]:
        """Ids of function words; none where there is no tokenizer."""
        tokenizer = self.model.tokenizer
        return () if tokenizer is None else function_word_ids(tokenizer)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by head, and passages."""
        return parts.dataset(Outcome(plan, plan.passes[0], self.settings, tally))


run = SurveyStudy.run
