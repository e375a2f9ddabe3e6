"""The parts of the survey: a table, and the observer and the result that are made of it."""

from collections.abc import Mapping
from math import inf
from typing import Any

import xarray

from headlight.analysis.batch_runner import Texts
from headlight.analysis.plan import StudyPlan
from headlight.analysis.variables import Variable, long_names
from headlight.capture import Prepared
from headlight.encode import Encoded
from headlight.reduce import Sample
from headlight.result import describe
from headlight.result.estimate import slot_coordinates
from headlight.studies.survey import (
    deciles,
    importance,
    ranks,
    residual,
    result,
    result as gates,
    token_types,
)
from headlight.studies.survey.behaviours import BehaviourCounter
from headlight.studies.survey.deciles import DrawnTexts
from headlight.studies.survey.importance import POINT, ImportanceObserver, NullSpaceObserver
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.part import Outcome, Part, PartObserver, Subject
from headlight.studies.survey.passages import PassageSeeker
from headlight.studies.survey.residual import ResidualObserver
from headlight.studies.survey.result import GateObserver, query_sample
from headlight.studies.survey.token_types import TokenCounter, types_within_memory


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


def _observe_residual(subject: Subject) -> PartObserver:
    return ResidualObserver(*subject.texts)


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
    """Return the number of types of tokens to count; 0 where they have no names.

    Frames of sound are no tokens of a vocabulary: a time says nothing of other recordings.
    """
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
    Part(
        name="rows",
        variables=result.OF_ROWS,
        compute=result.rows,
        sections=(
            "highlights",
            "grid",
            "shares",
            "from-weight-to-norm",
            "matrices",
            "neighbours",
            "entropy",
            "tables",
        ),
    ),
    Part(
        name="gates",
        variables=gates.VARIABLES,
        observe=_observe_gates,
        compute=gates.gates,
        attributes=_gate_attributes,
    ),
    Part(name="merged", variables=result.OF_MERGED_NORMS, compute=result.merged_norms),
    Part(
        name="effective",
        variables=result.OF_EFFECTIVE,
        compute=result.effective,
        sections=("correlation",),
    ),
    Part(
        name="behaviours",
        variables=result.OF_BEHAVIOURS,
        observe=observe_behaviours,
        compute=result.behaviours,
    ),
    Part(
        name="residual",
        variables=residual.VARIABLES,
        observe=_observe_residual,
        compute=residual.residual,
        sections=("residual",),
    ),
    Part(
        name="token_types",
        variables=_plain(token_types.VARIABLES),
        observe=_observe_tokens,
        compute=result.token_types,
        attributes=_token_attributes,
        sections=("tokens",),
    ),
    Part(
        name="lengths",
        variables=result.OF_LENGTHS,
        compute=result.lengths,
        sections=("dispersion",),
    ),
    Part(
        name="ranks",
        variables=ranks.VARIABLES,
        observe=ranks.observe,
        compute=ranks.ranks,
        attributes=ranks.attributes,
        sections=("ranks", "frequency"),
        chosen=True,
    ),
    Part(
        name="null_space",
        variables=importance.NULL_SPACE_VARIABLES,
        observe=_observe_null_space,
        compute=importance.null_space,
        sections=("null-spaces",),
        chosen=True,
    ),
    Part(
        name="importance",
        variables=importance.IMPORTANCE_VARIABLES,
        observe=_observe_importance,
        compute=importance.importance,
        attributes=importance.attributes,
        sections=("importance",),
        chosen=True,
        of_loss=True,
    ),
    Part(
        name="deciles",
        variables=_plain(deciles.VARIABLES),
        observe=_observe_deciles,
        compute=result.deciles,
        compressed=("decile_place", "decile_value", "drawn_key", "drawn_query"),
        sections=("each-head",),
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
