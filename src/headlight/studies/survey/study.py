"""The survey of a corpus, the table of its parts, and the numbers of one text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from headlight.analysis.batch_runner import Texts
from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_repeatable,
    plan_passes,
    required_objective,
)
from headlight.analysis.text_study import LossStudy
from headlight.analysis.variables import Variable, long_names
from headlight.capture import (
    AttentionSite,
    CapturedModel,
    Kind,
    LayerRecord,
    Objective,
    Prepared,
    default_objective,
)
from headlight.catalogue.statistics import rows_of_others, statistic_table
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.encode.examples import word_ids
from headlight.findings.statistics import OF_READING, ROWS_OF_READING, count_rows, statistics_of
from headlight.reduce import Sample, Tally
from headlight.result import describe
from headlight.result.estimate import slot_coordinates
from headlight.studies.survey import (
    SurveySettings,
    deciles,
    importance,
    ranks,
    residual,
    result,
    token_types,
)
from headlight.studies.survey.behaviours import BehaviourCounter
from headlight.studies.survey.deciles import DrawnTexts, highest_hash
from headlight.studies.survey.importance import POINT, ImportanceObserver, NullSpaceObserver
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome, Part, PartObserver, Subject
from headlight.studies.survey.passages import PassageSeeker
from headlight.studies.survey.ranks import Known
from headlight.studies.survey.residual import ResidualObserver
from headlight.studies.survey.result import GateObserver, query_sample
from headlight.studies.survey.token_types import TokenCounter, types_within_memory
from headlight.vocabulary import PER_HEAD, ValueBias, measure_table, measures_that_need


def _plain(table: Mapping[str, tuple[str, str]]) -> dict[str, Variable]:
    """Return a table of long names and units as variables without an interval."""
    return {name: Variable(*description) for name, description in table.items()}


def _observe_gates(subject: Subject) -> PartObserver | None:
    gated = any(site.gate for site in subject.plan.sites)
    return GateObserver(subject.sides[0], subject.units) if gated else None


def _gate_attributes(outcome: Outcome) -> dict[str, Any]:
    sampled = any(site.gate == "element" for site in outcome.plan.sites)
    return {"gated_queries": outcome.settings.gated_queries} if sampled else {}


def observe_behaviours(subject: Subject) -> PartObserver:
    """Return what counts the behaviours of a batch."""
    model, words = subject.plan.model, {} if subject.reads_sound else subject.words
    tokenizer = model.tokenizer if words else None
    measures = subject.one.measures
    return BehaviourCounter(*subject.texts, measures, words, tokenizer, host=subject.host)


def _observe_tokens(subject: Subject) -> PartObserver | None:
    plan, measures = subject.plan, subject.one.measures
    limit = _types(plan, subject.settings.token_types, len(measures))
    if not limit:
        return None
    return TokenCounter(subject.batch, plan.kind, measures, limit, subject.host)


def _token_attributes(outcome: Outcome) -> dict[str, Any]:
    limit = _types(outcome.plan, outcome.settings.token_types, len(outcome.measures))
    return {"token_types": limit} if "top_token" in outcome.variables else {}


def _types(plan: StudyPlan[Encoded], most: int, measures: int) -> int:
    """Return the number of types of tokens to count; 0 where they have no names, as frames."""
    if plan.model.tokenizer is None or (plan.model.hears and plan.kind != "decoder"):
        return 0
    heads = len(plan.layers) * max(site.heads for site in plan.sites)
    return types_within_memory(most, heads, measures)


def _observe_importance(subject: Subject) -> PartObserver:
    batch, objective = subject.batch, subject.one.objective
    assert isinstance(batch, Prepared)  # noqa: S101 - its pass has an objective
    assert objective is not None  # noqa: S101
    return ImportanceObserver(batch, subject.plan.kind, objective.reduction, subject.units)


def _observe_null_space(subject: Subject) -> PartObserver:
    settings = subject.settings
    points = Sample(settings.sample, len(POINT), seed=settings.seed)
    return NullSpaceObserver(Texts.of(*subject.texts), points)


def _observe_deciles(subject: Subject) -> PartObserver | None:
    if not _shows_texts(subject) or subject.plan.model.hears:
        return None
    highest = subject.known.get("drawn", inf)
    one, sides = subject.one, (subject.batch, subject.examples)
    return DrawnTexts(*sides, subject.plan, one.measures, highest, subject.host)


def _observe_passages(subject: Subject) -> PartObserver | None:
    counter = subject.observers.get("behaviours")
    assert counter is None or isinstance(counter, BehaviourCounter)  # noqa: S101 - by the table
    return PassageSeeker(*subject.texts, counter) if _shows_texts(subject) else None


def _shows_texts(subject: Subject) -> bool:
    """Return whether passages of texts are shown; patches have no words to show."""
    passages = subject.settings.passages and not subject.plan.model.sees
    return passages and "weight" in subject.one.measures


PARTS = (
    Part(name="rows", variables=result.OF_ROWS, compute=result.rows),
    Part(
        name="gates",
        variables=result.VARIABLES,
        observe=_observe_gates,
        compute=result.gates,
        attributes=_gate_attributes,
    ),
    Part(name="merged", variables=result.OF_MERGED_NORMS, compute=result.merged_norms),
    Part(name="effective", variables=result.OF_EFFECTIVE, compute=result.effective),
    Part(
        name="behaviours",
        variables=result.OF_BEHAVIOURS,
        observe=observe_behaviours,
        compute=result.behaviours,
    ),
    Part(
        name="residual",
        variables=residual.VARIABLES,
        observe=lambda subject: ResidualObserver(*subject.texts),
        compute=residual.residual,
    ),
    Part(
        name="token_types",
        variables=_plain(token_types.VARIABLES),
        observe=_observe_tokens,
        compute=result.token_types,
        attributes=_token_attributes,
    ),
    Part(name="lengths", variables=result.OF_LENGTHS, compute=result.lengths),
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
        variables=importance.NULL_SPACE_VARIABLES,
        observe=_observe_null_space,
        compute=importance.null_space,
        chosen=True,
    ),
    Part(
        name="importance",
        variables=importance.IMPORTANCE_VARIABLES,
        observe=_observe_importance,
        compute=importance.importance,
        attributes=importance.attributes,
        chosen=True,
        of_loss=True,
    ),
    Part(
        name="deciles",
        variables=_plain(deciles.VARIABLES),
        observe=_observe_deciles,
        compute=result.deciles,
        compressed=("decile_place", "decile_value", "drawn_key", "drawn_query"),
    ),
    Part(
        name="passages",
        variables=result.OF_PASSAGES,
        observe=_observe_passages,
        compute=result.passages,
        compressed=("passage_place", "passage_token", "passage_weight"),
    ),
)
"""All parts, in the order in which they observe and are computed."""

VARIABLES = long_names({name: each for part in PARTS for name, each in part.variables.items()})
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def observe(subject: Subject) -> HeadsObserver:
    """Return what observes a batch: the rows of all measures, and every part."""
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
        subject.one.measures,
        tuple(subject.observers.values()),
        units=subject.units,
        sampled=query_sample(queries.category >= 0, most) if gated else None,
    )


def dataset(outcome: Outcome) -> xarray.Dataset:
    """Return what a pass has observed, as named arrays with their long names and units."""
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
        return observe(Subject(plan, one, settings, batch, examples, words, corpus_knowledge))

    @cached_property
    def _words(self) -> dict[str, tuple[int, ...]]:
        """Ids of the words of each class."""
        return words_of(self.model)

    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """Statistics by head, and passages."""
        corpus_knowledge = self._known[plan.kind]
        return dataset(Outcome(plan, plan.passes[0], self.settings, tally, corpus_knowledge))


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
        behaviours = observe_behaviours(subject)
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
        result = dataset(Outcome(plan, one, self._settings, self._observer.tally()))
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
        of_numbers = {"long_name": "statistics of the heads in this text", "units": ""}
        of_rows = {"long_name": "rows of attention", "units": "1"}
        return {
            OF_READING: (("statistic", "measure", "layer", "head"), numbers, of_numbers),
            ROWS_OF_READING: ("statistic", counts, of_rows),
        }, axes
