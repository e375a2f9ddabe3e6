"""The survey of a corpus, and the table of its parts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import xarray

from headlight.capture import Kind, Objective, default_objective
from headlight.catalogue.statistics import rows_of_others
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.folder import OpenFolder
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan, plan_passes, required_objective
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.errors import RunError, UsageError, setting
from headlight.files import write_parts
from headlight.observations.variables import Variable, long_names
from headlight.reduce import Tally
from headlight.result import describe
from headlight.result.estimate import slot_coordinates
from headlight.studies.survey import (
    SurveySettings,
    deciles,
    effective_attention,
    gates,
    importance,
    massive_activations,
    merged_norms,
    null_spaces,
    passages,
    per_text,
    ranks,
    rows,
    sinks,
    token_types,
    vector_lengths,
)
from headlight.studies.survey.deciles import highest_hash
from headlight.studies.survey.gates import query_sample
from headlight.studies.survey.head_behaviours import induction_and_sinks, variables as behaviours
from headlight.studies.survey.head_behaviours.counted_keys import words_of
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome, Part, Subject
from headlight.studies.survey.ranks import Known
from headlight.studies.survey.sinks import ZeroedSinks
from headlight.vocabulary import measures_that_need


def _plain(table: Mapping[str, tuple[str, str]]) -> dict[str, Variable]:
    return {name: Variable(*description) for name, description in table.items()}


PARTS = (
    Part(
        name="rows",
        variables=rows.OF_ROWS,
        compute=rows.rows,
        attributes=rows.attributes,
    ),
    Part(
        name="gates",
        variables=gates.VARIABLES,
        observe=gates.observe,
        compute=gates.gates,
        attributes=gates.attributes,
    ),
    Part(
        name="merged",
        variables=merged_norms.OF_MERGED_NORMS,
        compute=merged_norms.merged_norms,
    ),
    Part(
        name="effective",
        variables=effective_attention.OF_EFFECTIVE,
        compute=effective_attention.effective,
    ),
    Part(
        name="behaviours",
        variables=behaviours.OF_BEHAVIOURS,
        observe=induction_and_sinks.observe_behaviours,
        compute=behaviours.behaviours,
    ),
    Part(
        name="per_text",
        variables={},
        observe=per_text.observe,
        compute=lambda _: {},
    ),
    Part(
        name="residual",
        variables=massive_activations.VARIABLES,
        observe=lambda subject: massive_activations.ResidualObserver(*subject.texts),
        compute=massive_activations.residual,
    ),
    Part(
        name="token_types",
        variables=_plain(token_types.VARIABLES),
        observe=token_types.observe,
        compute=token_types.token_types,
        attributes=token_types.attributes,
    ),
    Part(name="lengths", variables=vector_lengths.OF_LENGTHS, compute=vector_lengths.lengths),
    Part(
        name="ranks",
        variables=ranks.VARIABLES,
        observe=ranks.observe,
        compute=ranks.ranks,
        attributes=ranks.attributes,
        chosen=True,
    ),
    Part(
        name="null_space",
        variables=null_spaces.NULL_SPACE_VARIABLES,
        observe=null_spaces.observe,
        compute=null_spaces.null_space,
        chosen=True,
    ),
    Part(
        name="sinks",
        variables=sinks.VARIABLES,
        observe=sinks.observe,
        compute=sinks.sinks,
        chosen=True,
    ),
    Part(
        name="importance",
        variables=importance.IMPORTANCE_VARIABLES,
        observe=importance.observe,
        compute=importance.importance,
        attributes=importance.attributes,
        chosen=True,
        of_loss=True,
    ),
    Part(
        name="deciles",
        variables=_plain(deciles.VARIABLES),
        observe=deciles.observe,
        compute=deciles.deciles,
        compressed=("decile_place", "decile_value", "drawn_key", "drawn_query"),
    ),
    Part(
        name="passages",
        variables=passages.OF_PASSAGES,
        observe=passages.observe,
        compute=passages.passages,
        compressed=("passage_place", "passage_token", "passage_weight"),
    ),
)
"""All parts, in the order in which they observe and are computed."""

VARIABLES = long_names(
    {name: long_name for part in PARTS for name, long_name in part.variables.items()}
)
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def observe(subject: Subject) -> HeadsObserver:
    """Return the observer of a batch: of the rows of all measures, and of every part."""
    for part in PARTS:
        if (observer := part.observer(subject)) is not None:
            subject.observers[part.name] = observer
    queries, keys = subject.sides
    gated = any(site.gate for site in subject.plan.sites)
    most = subject.settings.gated_queries
    return HeadsObserver(
        queries,
        keys,
        subject.plan.kind,
        subject.settings.value_bias,
        subject.model_pass.measures,
        tuple(subject.observers.values()),
        units=subject.units,
        sampled=query_sample(queries.category >= 0, most) if gated else None,
    )


def dataset(outcome: Outcome) -> xarray.Dataset:
    """Return the observations of a pass as arrays with long names and units."""
    variables = outcome.variables
    variables["layer"] = outcome.plan.layers
    attributes: dict[str, Any] = {}
    for part in PARTS:
        variables |= part.compute(outcome)
        attributes |= part.attributes(outcome)
    arrays = xarray.Dataset(variables)
    arrays = arrays.set_coords(slot_coordinates(arrays))
    arrays = arrays.assign_coords(head=range(arrays.sizes["head"]))
    for part in PARTS:
        for name in part.compressed:
            if name in arrays:
                arrays[name].encoding["zlib"] = True
    return describe(arrays, VARIABLES).assign_attrs(attributes)


class SurveyStudy(CorpusStudy[SurveySettings]):
    """Statistics of every head on a corpus, by raw weights, vector norms and effective attention.

    Its statistics are those of the documentation of results.
    """

    name = "survey"
    title = "Survey of attention"
    settings_class = SurveySettings

    def make_plan(self, source: TextSource, objective: Objective | None) -> StudyPlan[Encoded]:
        """Plan the passes, and read the corpus for statistics that ranks need beforehand."""
        settings = self.settings
        # A resumed run needs the same statistics of other packages that it began with.
        others = rows_of_others()
        plan = plan_text_study(
            self.name,
            self.title,
            source,
            self.model,
            settings,
            passes=self._passes(objective),
            measures=settings.measures,
        )
        if others:
            plan = replace(plan, options={**plan.options, "statistics": others})
        if settings.per_text:
            plan = replace(plan, end_rows=self._write_table)
        kinds = plan.by_kind()
        self._known: dict[Kind, dict[str, Any]] = {kind: {} for kind in kinds}
        if plan.corpus is not None and (len(plan.passes) > 1 or "ranks" in settings.numbers):
            check_repeatable(plan.corpus)
        if "ranks" not in settings.numbers:
            return replace(plan, begin_shard=self._draw)
        known_by_kind = {kind: Known.from_corpus(part, settings) for kind, part in kinds.items()}
        for kind, known in known_by_kind.items():
            self._known[kind]["ranks"] = known
        depends = {str(kind): known.signature() for kind, known in known_by_kind.items()}
        options = {**plan.options, **(depends if plan.all_kinds else depends[plan.kind])}
        # Pairs are counted key by key, which needs all queries of a layer at once.
        return replace(plan, begin_shard=self._draw, options=options, query_block=0)

    def prepare(self, folder: OpenFolder, *, progress: bool) -> None:
        """Claim the file of the table of texts, if there is to be one."""
        self._output = folder.output
        if self.settings.per_text:
            if self._output is None:
                raise UsageError(
                    f"{setting('per_text')} writes a file; name the folder of the run with "
                    f"{setting('out=')}."
                )
            self._output.claim([per_text.FILE])

    def _write_table(self, shards: Callable[[], Iterator[Tally]]) -> None:
        assert self._output is not None  # noqa: S101 - refused before the run
        write_parts(
            self._output.place / per_text.FILE,
            lambda: per_text.table(shards(), self.plan, self.settings),
            error=RunError,
        )

    def _draw(self, shard: Sequence[Encoded]) -> None:
        # The choice depends on the shard alone, so that all workers draw the same texts.
        for kind, known in self._known.items():
            known["drawn"] = highest_hash(shard, kind)
            known["zeroed"] = sinks.first_texts(shard)

    def _passes(self, objective: Objective | None) -> tuple[Pass, ...]:
        """Return one pass for all measures, which all read the input that the objective leaves.

        Parts that depend on the loss have a pass of their own, unless the first has a loss already;
        so have sinks, where the model has a loss.
        """
        settings, measures = self.settings, self.settings.measures
        wanted = "importance" in settings.numbers
        zeroes = "sinks" in settings.numbers and (
            objective is not None or sinks.has_loss(self.model)
        )
        chosen = objective
        if (wanted or zeroes) and chosen is None:
            chosen = default_objective(self.model, seed=settings.seed)
        backward = bool(measures_that_need("gradient", measures))
        of_measures = chosen if backward or not (wanted or zeroes) else None
        of_measures = required_objective(self.model, measures, of_measures, settings.seed)
        passes = plan_passes(measures, of_measures, settings.attribution, together=True)
        if wanted and not backward:
            passes = (*passes, Pass(objective=chosen, folder="loss"))
        return (*passes, Pass(objective=chosen, folder=sinks.PASS)) if zeroes else passes

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> Observer:
        """Return the observer of every layer, with all parts; or that of zeroed sinks."""
        if plan.passes[0].folder == sinks.PASS:
            return ZeroedSinks(plan, examples, self._known[plan.kind]["zeroed"])
        model_pass, settings, words = plan.passes[0], self.settings, self._words
        corpus_knowledge = self._known[plan.kind]
        return observe(
            Subject(plan, model_pass, settings, batch, examples, words, corpus_knowledge)
        )

    @cached_property
    def _words(self) -> dict[str, tuple[int, ...]]:
        return words_of(self.model)

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return statistics by head, and passages."""
        corpus_knowledge = self._known[plan.kind]
        return dataset(Outcome(plan, plan.passes[0], self.settings, state.tally, corpus_knowledge))


run = SurveyStudy.run_with_objective
