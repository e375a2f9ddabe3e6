"""Parts of a survey: variables and observer, in one pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.analysis.batch_runner import Positions, moments, units_of
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.variables import Variable, with_slots
from headlight.capture import Kind, LayerRecord
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.pool import Membership, membership, with_all
from headlight.reduce import Accumulator, Ratio, Slots, Tally
from headlight.reduce.base import Array
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.one_pass import Sums
from headlight.tensors import Score
from headlight.vocabulary import CATEGORIES

TEXTS = ("passages", "drawn")
"""Members of a tally that hold texts, and no statistic."""

QUERY_CATEGORIES = ("all", *CATEGORIES, "not_sep")
"""Groups of queries to average; the last are all but the separators (Clark et al. 2019, Fig. 2)."""

Variables: TypeAlias = dict[str, Any]
"""Variables of a result by name, as `xarray.Dataset` takes them; coordinates are among them."""


class SeenMeasure(NamedTuple):
    """A measure of some queries of a layer.

    Attributes:
        name: of the measure.
        score: of these queries.
        record: which queries they are.
        sums: over its cells, where one pass over them was possible.
        rows: statistics of each row: ``rows`` by category, ``entropy``, ``neighbour``.
    """

    name: str
    score: Score
    record: LayerRecord
    sums: Sums | None
    rows: Mapping[str, Tensor]


class SeenTogether(NamedTuple):
    """Measures of some queries of a layer, their heads one after the other.

    Attributes:
        heads: of each measure.
        score: of these queries, and of the heads of all measures.
        columns: ``batch head query column``; sums over the keys of `BehaviourCounter.key_columns`.
        record: which queries they are.
    """

    heads: Mapping[str, slice]
    score: Score
    columns: Tensor
    record: LayerRecord


class SeenLayer(NamedTuple):
    """A layer, once all its queries were seen.

    Attributes:
        record: of its last queries.
        scores: of them, with the vectors of the whole layer.
        means: of each measure the statistics of its rows, averaged over queries.
    """

    record: LayerRecord
    scores: Scores
    means: Mapping[str, Mapping[str, Tensor]]


class PartObserver:
    """Observes one batch, layer by layer; ignores what a subclass does not override.

    Layers may come in blocks of queries, in their order.
    """

    wants_stream = False
    """Whether records should say what entered the block."""
    links: Bool[Tensor, "batch key"] | None = None
    """Keys among which the largest entry of each row is wanted."""

    def note_measure(self, measured: SeenMeasure) -> None:
        """Observe a measure of a block of queries."""

    def note_block(self, scores: Scores) -> None:
        """Observe a block of queries, after all its measures."""

    def note_layer(self, layer: SeenLayer) -> None:
        """Observe a layer as a whole, after all its blocks."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Observe the loss of each text, after all layers of a pass backward."""

    def members(self) -> Mapping[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        return {}


class BlockRows:
    """Rows of the queries of a layer, joined from blocks of queries."""

    def __init__(self) -> None:
        self.rows: dict[str, Tensor] = {}

    def keep(self, record: LayerRecord, rows: Mapping[str, Tensor]) -> None:
        """Put the rows of a block where those of the layer are.

        There is one place for all of them from the beginning: small tensors that outlive a block
        would lie where its large ones were, and the next block, which is somewhat larger, could not
        take their memory.
        """
        first = record.first
        if not first:
            self.rows = {}
        if record.block is None:
            self.rows.update(rows)
            return
        for name, each in rows.items():
            if name not in self.rows:
                shape = (*each.shape[:2], record.block.queries, *each.shape[3:])
                self.rows[name] = each.new_empty(shape)
            self.rows[name][:, :, first : first + each.shape[2]] = each


def means(name: str, rows: Array, units: Array) -> dict[str, Accumulator]:
    """Return the means of rows over texts, and their sums in blocks of the corpus.

    Args:
        name: of the member of a tally; the sums are in ``slots_NAME``.
        rows: texts along the first axis.
        units: the unit of the corpus that each text is of.
    """
    return {name: moments(rows), f"slots_{name}": Slots.of(units, rows)}


def ratios(name: str, parts: Array, wholes: Array, units: Array) -> dict[str, Accumulator]:
    """Return ratios of means over texts, and both sums in blocks of the corpus; as `means`."""
    ratio, wholes = Ratio(parts.shape[1:]), np.broadcast_to(wholes, parts.shape)
    ratio.update(parts, wholes)
    return {name: ratio, f"slots_{name}": Slots.of(units, parts, wholes)}


def ratio_to_whole(part: Array, total: Array) -> Ratio:
    """Return the ratio of parts along the last axis to the sum over all categories."""
    missing = np.isnan(total).all(-1, keepdims=True)
    whole = np.where(missing, np.nan, np.nansum(total, -1, keepdims=True))
    ratio = Ratio(part.shape[1:])
    ratio.update(part, np.broadcast_to(whole, part.shape))
    return ratio


def sums_of_powers(
    lengths: Array, key_mask: Array
) -> Float64[np.ndarray, "batch layer row power=3"]:
    """Return the number of lengths in each text, their sum, and the sum of their squares."""
    rows = lengths.reshape(*key_mask.shape, lengths.shape[1], -1)
    powers = np.stack([rows * 0 + 1, rows, rows**2], -1)
    sums: Array = np.where(key_mask[..., None, None, None], powers, 0).sum(1)
    return sums


def query_members(queries: Positions) -> Membership:
    """Return the membership of queries in each of `QUERY_CATEGORIES`."""
    members = with_all(membership(queries.category, len(CATEGORIES)))
    sep = members[..., QUERY_CATEGORIES.index("sep")]
    return torch.cat([members, (members[..., 0] - sep)[..., None]], dim=-1)


def heads_of(measured: Mapping[str, Score]) -> dict[str, slice]:
    """Return the places of the heads of each measure, one after the other."""
    ends = np.cumsum([each.shape[1] for each in measured.values()]).tolist()
    return {name: slice(*of) for name, of in zip(measured, pairwise([0, *ends]), strict=True)}


def number(
    name: str, dims: Sequence[str], sums: Mapping[str, Any], member: str, at: int | None = None
) -> Variables:
    """Return a number over texts, and what its interval is computed from.

    Args:
        name: of the variable.
        dims: its axes.
        sums: the statistics of the tally.
        member: of the tally, as `means` or `ratios` made it.
        at: a place along its last axis; all by default.
    """
    place: Any = ... if at is None else (..., at)
    value, slots = sums[member].get("mean", sums[member].get("ratio")), sums[f"slots_{member}"]
    placed = {part: slots[part][place] for part in ("mean", "without", "whole")}
    return dict(with_slots(name, dims, value[place], {**placed, "units": slots["units"]}))


def inputs_of(record: LayerRecord) -> Float[Tensor, "batch key d_input"] | None:
    """Return the vectors that values are made from, of all keys; None where they are unknown."""
    return record.input if record.block is None else record.block.input


@dataclass(frozen=True, eq=False)
class Subject:
    """One batch of a survey, and what is known before it is observed.

    Attributes:
        plan: of one kind of attention.
        one: the pass in which it is observed.
        settings: of the survey.
        batch: of texts.
        examples: of which it was made.
        words: ids of the words of each class, by row of the table of statistics.
        known: what was found out of the corpus before the passes, by part.
        observers: the parts that observe it so far, by name.
    """

    plan: StudyPlan[Encoded]
    one: Pass
    settings: SurveySettings
    batch: Batch
    examples: Sequence[Encoded]
    words: Mapping[str, Sequence[int]] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    observers: dict[str, PartObserver] = field(default_factory=dict)

    @cached_property
    def sides(self) -> tuple[Positions, Positions]:
        """Positions of queries and keys."""
        return Positions.for_kind(self.batch, self.plan.kind)

    @cached_property
    def host(self) -> Batch:
        """Return the batch on the host, for what is made of its tokens once."""
        return self.batch.on_host()

    @cached_property
    def units(self) -> Int64[np.ndarray, " text"]:
        """The unit of the corpus that each text is of."""
        return units_of(self.examples)

    @property
    def texts(self) -> tuple[Batch, Sequence[Encoded], Kind]:
        """The batch, its examples, and which attention of it is looked at."""
        return self.batch, self.examples, self.plan.kind

    @property
    def reads_sound(self) -> bool:
        """Whether frames of sound attend, which are no words."""
        return self.plan.model.hears and self.plan.kind == "encoder"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Observations of a pass of a survey on one kind of attention, from which its result is made.

    Attributes:
        plan: of one kind of attention.
        one: the pass in which it was observed.
        settings: of the survey.
        tally: what the observers of all batches saw.
        known: see `Subject`.
        variables: of the parts so far.
    """

    plan: StudyPlan[Encoded]
    one: Pass
    settings: SurveySettings
    tally: Tally
    known: Mapping[str, Any] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the measures of the pass."""
        return self.one.measures

    @cached_property
    def found(self) -> dict[str, Any]:
        """The statistics of every member of the tally, but for the texts."""
        return {name: each.compute() for name, each in self.tally.items() if name not in TEXTS}

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of the model."""
        return self.plan.model.tokenizer


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the survey.

    Attributes:
        name: of the part; where it is chosen, that in the setting ``numbers``.
        variables: those that it may have.
        compute: makes its variables; none where nothing was observed.
        observe: makes the observer of a batch, or None where there is nothing to observe; without
            it the part is made of what `headlight.studies.survey.observer` sees for all.
        attributes: makes attributes of the result, after its variables.
        compressed: variables that take the most room.
        chosen: whether it is left out unless ``numbers`` names it.
        of_loss: whether it is observed in the pass backward, which has an objective.
    """

    name: str
    variables: Mapping[str, Variable]
    compute: Callable[[Outcome], Variables]
    observe: Callable[[Subject], PartObserver | None] | None = None
    attributes: Callable[[Outcome], Mapping[str, Any]] = lambda _: {}
    compressed: Sequence[str] = ()
    chosen: bool = False
    of_loss: bool = False

    def observer(self, subject: Subject) -> PartObserver | None:
        """Return its observer of a batch, in the pass in which it has one."""
        left_out = self.chosen and self.name not in subject.settings.numbers
        passed = subject.one.objective if self.of_loss else subject.one.measures
        return None if left_out or not passed or self.observe is None else self.observe(subject)
