"""Observer of a survey, layer by layer, while a batch runs through the model."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.analysis.batch_runner import LENGTH_BIN, Positions, array, filled, moments, stacked
from headlight.capture import Kind, LayerRecord
from headlight.encode.batch import fetched
from headlight.measures import Scores, input_norm
from headlight.measures.effective import correlation, moments_by_row, summed, sums_by_row
from headlight.measures.entropy_and_divergence import entropy_of_sizes
from headlight.measures.whole_layer import Vectors
from headlight.pool import (
    Membership,
    mean_to_neighbours,
    membership,
    over_keys,
    over_queries,
    to_neighbours,
    with_all,
)
from headlight.reduce import Accumulator, Grouped, Moments, Ratio, Slots, Tally
from headlight.reduce.base import Array
from headlight.studies.survey.behaviours import BehaviourCounter
from headlight.studies.survey.part import (
    BlockRows,
    OnePass,
    PartObserver,
    SeenLayer,
    SeenMeasure,
    Sums,
    inputs_of,
    means,
    ratios,
)
from headlight.tensors import Score, double
from headlight.vocabulary import CATEGORIES, MEASURES, NEIGHBOURS, Measure, ValueBias, measure

OF_ALL_QUERIES = ("weight", "effective", "gradient", "attribution")
"""Measures that cost no more where a gate makes f another for each query."""
POWERS = ("vector_norm_powers", "input_norm_powers")
"""Power sums of the lengths in each text: their number, their sum, the sum of their squares."""
OFFSETS = tuple(NEIGHBOURS.values())
ROUNDING = 1e-6
"""Sums of weights that are smaller are what rounding leaves of 0."""
QUERY_CATEGORIES = ("all", *CATEGORIES, "not_sep")
"""Groups of queries to average; the last are all but the separators (Clark et al. 2019, Fig. 2)."""


class HeadsObserver:
    """Sees the attention of one batch; `tally` is what it saw, and what its parts saw.

    Layers may come in blocks of queries.  Statistics of rows are kept until the layer is whole, so
    that they are averaged alike.

    Args:
        queries: their positions.
        keys: their positions.
        kind: of attention.
        value_bias: value bias in T of effective attention.
        measures: that are looked at.
        parts: other observers, which are handed measures, blocks and layers as they are seen.
        units: the unit of the corpus that each text is of; by default each is one.
        sampled: queries at which norms are taken where a gate is a vector; None for all.
        compiled: whether sums over cells may come from compiled loops, as pays for many texts.
    """

    def __init__(  # noqa: PLR0913 - each is known of the batch
        self,
        queries: Positions,
        keys: Positions,
        kind: Kind,
        value_bias: ValueBias = "include",
        measures: Sequence[str] = MEASURES,
        parts: Sequence[PartObserver] = (),
        *,
        units: Int64[np.ndarray, " text"] | None = None,
        sampled: Bool[Tensor, "batch query"] | None = None,
        compiled: bool = True,
    ) -> None:
        self._kind = kind
        self._value_bias = value_bias
        self._measures = measures
        self._parts = parts
        self._counter = next((each for each in parts if isinstance(each, BehaviourCounter)), None)
        self._units = np.arange(len(keys.lengths)) if units is None else units
        self._sampled = sampled
        self._sample: Tensor | None = None
        self._keys = keys
        self._key_members = membership(keys.category, len(CATEGORIES))
        self._query_members = query_members(queries)
        self._present = self._query_members[..., 0]
        self._key_lengths, self._key_mask = keys.lengths, keys.category >= 0
        self._begin = self._key_mask.int().argmax(1)
        self._first_category = keys.category.gather(1, self._begin[:, None])
        self._compiled = compiled
        links = next((each.links for each in parts if each.links is not None), None)
        self._one_pass = _one_pass(queries, self._key_members, self._counter, links)
        self._seen: dict[int, dict[str, Tensor]] = {}
        self._vectors: Vectors | None = None
        self._blocks = BlockRows()

    @property
    def wants_stream(self) -> bool:
        """Whether records should say what entered the block."""
        return any(part.wants_stream for part in self._parts)

    def visit(self, record: LayerRecord) -> None:
        """Look at some queries of a layer; nothing of it is kept but small summaries of rows."""
        if not record.first:
            self._vectors = None
        self._sample = self._sampled if record.site.gate == "element" else None
        precision = torch.float32 if self._compiled else torch.float64
        scores = Scores(record, self._value_bias, precision, self._vectors, self._sample)
        self._vectors = scores.vectors
        self._blocks.keep(record, self._look(scores))
        if record.ends:
            layer = record.site.layer
            self._seen.setdefault(layer, {}).update(self._summary(scores, self._blocks.rows))
            self._vectors, self._blocks = None, BlockRows()

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Hand the parts the loss of each text."""
        for part in self._parts:
            part.note_losses(losses)

    def tally(self) -> Tally:
        """The statistics of the batch: documents along the first axis, or tokens for dispersion.

        All that was kept is copied to the host at once.
        """
        observers = self, *self._parts
        for each, numbers in zip(observers, fetched([*map(vars, observers)]), strict=True):
            vars(each).update(numbers)
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        sums_by_name = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        sums = sums_by_name.pop("comoments", None)
        powers = {name: sums_by_name.pop(name) for name in POWERS if name in sums_by_name}
        if (first := sums_by_name.pop("first", None)) is not None:
            sums_by_name["class"] = self._beside_first(sums_by_name["total"], first)
        members: dict[str, Accumulator] = {}
        for name, rows in sums_by_name.items():
            if name in ("vector_norm", "input_norm"):
                members[name] = moments(rows[self._key_mask.flatten().numpy()])
            else:
                members |= means(name, rows, self._units)
        for name, rows in powers.items():
            counts = np.broadcast_to(rows[..., :1], rows[..., 1:].shape)
            members[f"slots_{name}"] = Slots.of(self._units, rows[..., 1:], counts)
        members |= self._beside_whole(sums_by_name)
        for part in self._parts:
            members |= part.members()
        if sums is not None:
            members |= means("correlation_by_head", correlation(sums), self._units)
            whole = correlation(np.nansum(sums, axis=(1, 2)))
            members["correlation"] = self._by_length(whole)
            members["slots_correlation"] = Slots.of(self._units, whole)
        counts = array(self._key_members.sum(1))
        members |= ratios("token_share", counts, counts.sum(-1, keepdims=True), self._units)
        members |= means("entropy_uniform", np.log(array(self._key_lengths)), self._units)
        return Tally(members)

    def _beside_whole(self, sums_by_name: dict[str, Array]) -> dict[str, Accumulator]:
        """Accumulate totals of rows, and parts of them, for measures that are no shares."""
        of_whole: dict[str, Accumulator] = {}
        if sizes := [at for at, name in enumerate(self._measures) if not measure(name).share]:
            total = sums_by_name["total"][..., sizes, :, :]
            of_whole["share_of_sizes"] = _of_whole(total, total)
            if "class" in sums_by_name:
                of_whole["class_of_sizes"] = _of_whole(
                    sums_by_name["class"][..., sizes, :, :], total
                )
            neighbour = sums_by_name["neighbour"][..., sizes, :]
            of_whole["neighbour_of_sizes"] = _of_whole(neighbour, total[..., 0, :])
        if "merged" in sums_by_name:
            of_whole["merged_share"] = _of_whole(sums_by_name["merged"], sums_by_name["merged"])
        return of_whole

    def _beside_first(self, total: Array, first: Array) -> Array:
        """Return the sums for the first token of each text, and each category without it."""
        category = array(self._first_category)
        own = (category == np.arange(len(CATEGORIES))).reshape(len(category), *[1] * 4, -1)
        beside = total - np.where(own, first[..., None], 0)
        unsigned = np.array([not measure(name).signed for name in self._measures])[:, None, None]
        # What rounding leaves of a category that the first token has alone.
        beside = np.where(unsigned | (np.abs(beside) < ROUNDING), np.maximum(beside, 0), beside)
        return np.concatenate([first[..., None], beside], -1)

    def _look(self, scores: Scores) -> dict[str, Tensor]:
        """Return the statistics of each row."""
        statistics: dict[str, Tensor] = {}
        totals = {}
        for name in self._measures:
            score = scores.of(name).float()
            sums = self._sums(score, scores.record, measure(name))
            rows = self._by_row(score, scores.record, measure(name), sums)
            if sums is not None:
                totals[name] = sums.row("total"), sums.row("square")
            for part in self._parts:
                part.note_measure(SeenMeasure(name, score, scores.record, sums, rows))
            statistics |= {f"{name} {kind}": each for kind, each in rows.items()}
        for part in self._parts:
            part.note_block(scores)
        if "norm" in self._measures:
            statistics["merged"] = self._over_keys(scores.merged_norm[:, None])
        if "effective" in self._measures:
            # One for all queries where they see the same keys.
            statistics["rank"] = scores.rank.expand(-1, -1, scores.weight.shape[2])
            raw, effective = (
                totals.get(name) or sums_by_row(scores.of(name)) for name in ("weight", "effective")
            )
            visible = scores.record.visible
            statistics["comoments"] = moments_by_row(raw, effective, visible, self._key_lengths)
        return statistics

    def _sums(self, score: Score, record: LayerRecord, row: Measure) -> Sums | None:
        """All sums over the cells in one pass, where that is possible."""
        of_gradient = row.signed and row.needs == "gradient"
        if not self._compiled or len(score) != len(self._present) or of_gradient:
            return None
        behaviours, queries = self._counter, score.shape[2]
        cell_queries = None
        if behaviours is not None and score.device.type == "cpu":
            cell_queries = behaviours.asked(slice(record.first, record.first + queries))
        return self._one_pass.look(
            score,
            record.first,
            cell_queries,
            share=row.share,
            diagonal=cell_queries is not None and self._kind != "cross",
        )

    def _by_row(
        self, score: Score, record: LayerRecord, row: Measure, sums: Sums | None
    ) -> dict[str, Tensor]:
        """One measure; its entropy is that of its absolute values."""
        if sums is None:
            size = score.abs() if row.signed else score
            keys = self._key_members.shape[1]
            rows = {
                "rows": self._over_keys(score),
                "entropy": entropy_of_sizes(size),
                "neighbour": to_neighbours(score, OFFSETS, first=record.first, keys=keys),
            }
            whole = size.sum(-1)
        else:
            rows = {
                "rows": sums.row("categories")[..., : len(CATEGORIES)],
                "entropy": sums.row("entropy"),
                "neighbour": sums.row("neighbours"),
            }
            whole = sums.row("size")
        if self._kind == "decoder":
            begin = self._begin.clamp_max(score.shape[3] - 1)[:, None, None, None]
            rows["first"] = score.gather(3, begin.expand(*score.shape[:3], 1))[..., 0]
        if row.needs == "gradient":  # a query on which the loss does not depend has no entropy
            rows["some"] = (whole > 0).to(score.dtype)
        return rows

    def _over_keys(self, score: Score) -> Float[Tensor, "batch head query category"]:
        return over_keys(score, self._key_members[:, : score.shape[3]])

    def _summary(self, scores: Scores, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        """The statistics of a layer, of those of all its rows."""
        means = {name: self._means(rows, name) for name in self._measures}
        for part in self._parts:
            part.note_layer(SeenLayer(scores.record, scores, means))
        if not means:
            return {}
        summary: dict[str, Tensor] = {}
        heads = max(each["entropy"].shape[1] for each in means.values())
        for name in next(iter(means.values())):
            parts = [filled(each[name], heads) for each in means.values()]  # attribution: one row
            summary[name] = torch.stack(parts, dim=1).movedim(2, 1)
        if "norm" in self._measures:
            summary |= self._norms(scores, rows["merged"])
        if "effective" in self._measures:
            summary["rank"] = double(rows["rank"].amax(-1))
            summary["comoments"] = summed(rows["comoments"], self._present)
        return summary

    def _means(self, rows: dict[str, Tensor], name: str) -> dict[str, Tensor]:
        """One measure, averaged over queries."""
        members = self._members_of(name)
        entropies = over_queries(rows[f"{name} entropy"][..., None], members)
        if f"{name} some" in rows:
            entropies /= over_queries(rows[f"{name} some"][..., None], members)
        total = over_queries(rows[f"{name} rows"], members)
        to_neighbour = rows[f"{name} neighbour"]
        neighbour = mean_to_neighbours(to_neighbour, members[..., 0])
        if self._kind == "cross":
            neighbour.fill_(torch.nan)
        means_by_name = {"total": total, "neighbour": neighbour, "entropy": entropies[..., 0]}
        if f"{name} first" in rows:
            means_by_name["first"] = over_queries(rows[f"{name} first"][..., None], members)[..., 0]
        return means_by_name

    def _members_of(self, name: str) -> Membership:
        """The queries that a measure is averaged over."""
        if self._sample is None or name in OF_ALL_QUERIES:
            return self._query_members
        return self._query_members * self._sample[..., None]

    def _norms(self, scores: Scores, merged: Tensor) -> dict[str, Tensor]:
        """Return the statistics of the norms alone; of x only where it was found."""
        statistics = {
            "merged": over_queries(merged, self._members_of("norm"))[:, 0],
            "vector_norm": scores.vectors.norm.transpose(1, 2).flatten(0, 1),
            "vector_norm_powers": self._powers(scores.vectors.norm),
        }
        inputs = inputs_of(scores.record)
        if inputs is not None:
            statistics["input_norm"] = input_norm(inputs).flatten()
            statistics["input_norm_powers"] = self._powers(input_norm(inputs)[:, None])
        return statistics

    def _powers(self, length: Float[Tensor, "batch row key"]) -> Float[Tensor, "batch row 3"]:
        """Return the number of lengths of each text, their sum, and the sum of their squares."""
        key_mask = (self._keys.category >= 0)[:, None].to(length.device)
        each = double(length.masked_fill(~key_mask, 0))
        counts = double(key_mask).expand_as(each)
        return torch.stack([counts.sum(-1), each.sum(-1), each.square().sum(-1)], -1)

    def _by_length(self, correlation: np.ndarray) -> Grouped:
        grouped = Grouped(Moments())
        lengths = array(self._key_lengths).astype(np.int64)
        grouped.update(lengths // LENGTH_BIN * LENGTH_BIN, correlation)
        return grouped


def _of_whole(part: Array, total: Array) -> Ratio:
    """Return the ratio of parts along the last axis to the sum over all categories."""
    missing = np.isnan(total).all(-1, keepdims=True)
    whole = np.where(missing, np.nan, np.nansum(total, -1, keepdims=True))
    ratio = Ratio(part.shape[1:])
    ratio.update(part, np.broadcast_to(whole, part.shape))
    return ratio


def _one_pass(
    queries: Positions,
    members: Membership,
    behaviours: BehaviourCounter | None,
    links: Bool[Tensor, "batch key"] | None,
) -> OnePass:
    """Return the pass over the categories, with each class of words as one more."""
    words = [] if behaviours is None else behaviours.word_classes
    members = torch.cat([members, *(each[..., None].to(members) for each in words)], -1)
    return OnePass(queries, members, OFFSETS, links)


def query_members(queries: Positions) -> Membership:
    """Return the membership of queries in each of `QUERY_CATEGORIES`."""
    members = with_all(membership(queries.category, len(CATEGORIES)))
    sep = members[..., QUERY_CATEGORIES.index("sep")]
    return torch.cat([members, (members[..., 0] - sep)[..., None]], dim=-1)
