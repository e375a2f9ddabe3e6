"""The main job: read a corpus through a model, and say head by head what attention does."""

from collections.abc import Sequence
from functools import cached_property

import xarray

from headlight.analysis.batch_texts import groups_of
from headlight.analysis.plan import Pass, StudyPlan, plan_passes, required_objective
from headlight.analysis.positions import Positions
from headlight.analysis.text_study import LossStudy
from headlight.capture import Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.function_words import function_word_ids
from headlight.reduce import Strongest, Tally
from headlight.studies.heads import SurveySettings
from headlight.studies.heads.behaviours import BehaviourCounter
from headlight.studies.heads.deciles import drawn_texts, of_deciles
from headlight.studies.heads.gates import GateObserver
from headlight.studies.heads.observer import HeadsObserver
from headlight.studies.heads.passages import PassageSeeker
from headlight.studies.heads.residual import ResidualObserver
from headlight.studies.heads.result import dataset, passages, texts_at_deciles
from headlight.studies.heads.token_types import TokenCounter, types_within_memory


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
        """Looks at every layer, and for passages where heads do most what they do."""
        queries, keys = Positions.for_kind(batch, plan.kind)
        seeker = PassageSeeker(batch, examples, plan.kind) if self.settings.passages else None
        bias = self.settings.value_bias
        known, measures = self._function_words, self.measures
        if plan.model.hears and plan.kind == "encoder":  # frames are no words
            known = ()
        behaviours = BehaviourCounter(batch, examples, plan.kind, measures, known)
        found = HeadsObserver(queries, keys, plan.kind, bias, measures, seeker, behaviours)
        found.residual = ResidualObserver(batch, examples, plan.kind)
        found.groups = groups_of(examples)
        if limit := self._token_types(plan):
            found.tokens = TokenCounter(batch, plan.kind, measures, limit)
        if seeker and "weight" in measures and not plan.model.hears:
            found.drawn = drawn_texts(examples, plan.kind)
        if any(site.gate for site in plan.sites):
            present = (queries.category >= 0).float()
            found.gates = GateObserver(present, self.settings.gated_queries)
        return found

    @cached_property
    def _function_words(self) -> tuple[int, ...]:
        """Ids of function words; none where there is no tokenizer."""
        tokenizer = self.model.tokenizer
        return () if tokenizer is None else function_word_ids(tokenizer)

    def _token_types(self, plan: StudyPlan[Encoded]) -> int:
        """How many tokens of the vocabulary are looked at; none where they have no names.

        Frames of sound are no tokens of a vocabulary: a time says nothing of other recordings.
        """
        if plan.model.tokenizer is None or (plan.model.hears and plan.kind != "decoder"):
            return 0
        heads = len(plan.layers) * max(site.heads for site in plan.sites)
        return types_within_memory(self.settings.token_types, heads, len(self.measures))

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by head, and passages."""
        tokenizer = plan.model.tokenizer
        statistics = dataset(tally, plan.layers, self.measures, tokenizer)
        if "top_token" in statistics:
            statistics.attrs["token_types"] = self._token_types(plan)
        if any(site.gate == "element" for site in plan.sites):
            statistics.attrs["gated_queries"] = self.settings.gated_queries
        kept, drawn = tally.get("passages"), tally.get("drawn")
        if isinstance(drawn, Strongest):
            found = of_deciles(plan, drawn, self.measures, self.settings.value_bias)
            statistics = statistics.merge(texts_at_deciles(found, statistics))
        if isinstance(kept, Strongest):
            statistics = statistics.merge(passages(kept, tokenizer, statistics))
        return statistics


run = SurveyStudy.run
