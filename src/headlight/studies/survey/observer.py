"""Observer of a survey, layer by layer, while a batch runs through the model."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import Kind, LayerRecord
from headlight.encode.batch import fetched
from headlight.engine.batch_runner import LENGTH_BIN
from headlight.engine.observer import Observer
from headlight.measures import Scores, input_norm
from headlight.measures.effective_correlation import (
    correlation,
    moments_by_row,
    summed,
    sums_by_row,
)
from headlight.measures.layer_vectors import Vectors
from headlight.observations.layer_arrays import array, filled, moments, stacked
from headlight.observations.positions import Positions
from headlight.pool import (
    Membership,
    mean_weights,
    membership,
    over_keys,
)
from headlight.reduce import Accumulator, Grouped, Moments, Slots, Tally
from headlight.reduce.accumulator import Array
from headlight.studies.survey.block_rows import BlockRows
from headlight.studies.survey.cell_sums import CellSums
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter
from headlight.studies.survey.kernel_sums import (
    MADE,
    KernelSums,
    made_by_kernel,
)
from headlight.studies.survey.part_observer import (
    PartObserver,
    SeenBlock,
    SeenLayer,
    inputs_of,
)
from headlight.studies.survey.query_and_key_tokens import query_members
from headlight.studies.survey.row_sums import Asked, PairLists, RowSums
from headlight.studies.survey.rows import OFFSETS
from headlight.studies.survey.text_means import means, ratio_to_whole, ratios, sums_of_powers
from headlight.tensors import double
from headlight.vocabulary import CATEGORIES, MEASURES, ValueBias, measure

OF_ALL_QUERIES = ("weight", "effective", "gradient", "attribution")
"""Measures that cost no more where a gate makes f depend on the query."""
LENGTHS = ("vector_norm", "input_norm")
"""Statistics of each key."""

ROUNDING = 1e-6
"""Bound below which sums of weights are taken as rounding errors of 0."""


class HeadsObserver(Observer):
    """Observer of the attention in one batch, which also runs the observers of its parts.

    Layers may come in blocks of queries.  Statistics of rows are kept until the layer is whole, so
    that the average does not depend on the blocks.

    Args:
        queries: Positions of the queries.
        keys: Positions of the keys.
        kind: Kind of attention.
        value_bias: Treatment of the value bias in T of effective attention.
        measures: Measures observed.
        parts: Observers of parts, which receive blocks and layers as they are seen.
        units: Number of the unit of the corpus that each text belongs to; by default each text is a
            unit.
        sampled: Queries for which norms are computed if a gate is a vector; None for all.
        compiled: Whether to use compiled loops for sums over cells, which pays for many texts.
    """

    on_device = ("_seen", "_key_members", "_key_lengths", "_key_mask", "_first_category")

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
        self.wants_stream = any(part.wants_stream for part in parts)
        self._units = np.arange(len(keys.lengths)) if units is None else units
        self._sampled = sampled
        self._sample: Tensor | None = None
        self._key_members = membership(keys.category, len(CATEGORIES))
        self._query_members = query_members(queries)
        self._present = self._query_members[..., 0]
        self._key_lengths, self._key_mask = keys.lengths, keys.category >= 0
        self._begin = self._key_mask.int().argmax(1)
        self._first_category = keys.category.gather(1, self._begin[:, None])
        self._asked = self._requested_sums(queries)
        self._cells = CellSums(self._asked, compiled=compiled)
        # If some cells have to be written anyway, all sums are taken from written cells.
        writes = any(part.wants_cells for part in parts) or not set(measures) <= set(MADE)
        if compiled and "weight" in measures and not writes:
            self.kernel = KernelSums(self._asked, measures, value_bias)
        self._precision = torch.float32 if compiled else torch.float64
        self._heads: dict[str, slice] = {}
        self._weights: dict[str, Tensor] = {}
        self._seen: dict[int, dict[str, Any]] = {}
        self._vectors: Vectors | None = None
        self._blocks = BlockRows()
        self._differences: dict[int, float] = {}

    def visit(self, record: LayerRecord) -> None:
        """Observe some queries of a layer; only small summaries of their rows are kept."""
        if not record.first:
            self._vectors = None
        self._sample = self._sampled if record.site.gate == "element" else None
        if (made := made_by_kernel(record)) is not None:
            self._vectors = made.vectors
        scores = Scores(record, self._value_bias, self._precision, self._vectors, self._sample)
        self._vectors = scores.vectors
        self._blocks.keep(record, self._look(scores))
        if record.ends:
            layer = record.site.layer
            self._differences[layer] = np.nan if record.difference is None else record.difference
            self._seen.setdefault(layer, {}).update(self._summary(scores, self._blocks.rows))
            self._vectors, self._blocks = None, BlockRows()

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Pass the loss of each text on to the parts."""
        for part in self._parts:
            part.note_losses(losses)

    def to_host(self) -> None:
        """Copy all tensors that this observer and its parts have kept to the host, at once."""
        if self._begin.device.type == "cpu":
            return
        observers: list[HeadsObserver | PartObserver] = [self, *self._parts]
        kept = [
            {name: getattr(observer, name) for name in observer.on_device} for observer in observers
        ]
        for observer, copies in zip(observers, fetched(kept), strict=True):
            for name, copy in copies.items():
                setattr(observer, name, copy)

    def tally(self) -> Tally:
        """Return the statistics of the batch, over documents, or over tokens for dispersion."""
        layers = [self._align_measures(self._seen[layer]) for layer in sorted(self._seen)]
        sums_by_name = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        sums = sums_by_name.pop("comoments", None)
        if (first := sums_by_name.pop("first", None)) is not None:
            category = array(self._first_category)
            sums_by_name["class"] = separate_first(
                sums_by_name["total"], first, category, self._measures
            )
        members: dict[str, Accumulator] = {}
        for name, rows in sums_by_name.items():
            if name in LENGTHS:
                members[name] = moments(rows[self._key_mask.flatten().numpy()])
                powers = sums_of_powers(rows, self._key_mask.numpy())
                counts = np.broadcast_to(powers[..., :1], powers[..., 1:].shape)
                members[f"slots_{name}_powers"] = Slots.of(self._units, powers[..., 1:], counts)
            else:
                members |= means(name, rows, self._units)
        members |= self._divide_by_whole(sums_by_name)
        for part in self._parts:
            members |= part.members()
        if self._measures:
            differences = [self._differences[layer] for layer in sorted(self._differences)]
            members["kernel_difference"] = moments(np.array([differences]))
        if sums is not None:
            members |= means("correlation_by_head", correlation(sums), self._units)
            whole = correlation(np.nansum(sums, axis=(1, 2)))
            members["correlation"] = self._by_length(whole)
            members["slots_correlation"] = Slots.of(self._units, whole)
        counts = array(self._key_members.sum(1))
        members |= ratios("token_share", counts, counts.sum(-1, keepdims=True), self._units)
        members |= means("entropy_uniform", np.log(array(self._key_lengths)), self._units)
        return Tally(members)

    def _divide_by_whole(self, sums_by_name: dict[str, Array]) -> dict[str, Accumulator]:
        """Return ratios of parts of rows to whole rows, for measures that are no shares."""
        of_whole: dict[str, Accumulator] = {}
        if sizes := [at for at, name in enumerate(self._measures) if not measure(name).share]:
            total = sums_by_name["total"][..., sizes, :, :]
            of_whole["share_of_sizes"] = ratio_to_whole(total, total)
            if "class" in sums_by_name:
                of_whole["class_of_sizes"] = ratio_to_whole(
                    sums_by_name["class"][..., sizes, :, :], total
                )
            neighbour = sums_by_name["neighbour"][..., sizes, :]
            of_whole["neighbour_of_sizes"] = ratio_to_whole(neighbour, total[..., 0, :])
        if "merged" in sums_by_name:
            of_whole["merged_share"] = ratio_to_whole(
                sums_by_name["merged"], sums_by_name["merged"]
            )
        return of_whole

    def _look(self, scores: Scores) -> dict[str, Tensor]:
        """Return the statistics of each row, and show the block to the parts."""
        if not self._measures:
            return {}
        sums, merged, rank = self._sums(scores)
        for part in self._parts:
            part.note_block(SeenBlock(scores, sums))
        self._heads = dict(sums.heads)
        numbers = [
            sums.columns[..., : len(CATEGORIES)],
            sums.neighbours.nan_to_num(0.0),
            sums.entropy[..., None],
            sums.columns[..., -1:],
        ]
        if any(measure(name).needs == "gradient" for name in self._measures):
            numbers.append((sums.size[..., None] > 0).to(sums.size))
        if "effective" in sums.heads:
            numbers += [sums.total[..., None], sums.square[..., None]]
        statistics = {"rows": torch.cat(numbers, -1)}
        if merged is not None:
            statistics["merged"] = merged[:, None]
        if rank is not None:
            # The rank has one entry for all queries if they see the same keys.
            statistics["rank"] = rank.expand(-1, -1, sums.entropy.shape[2])
            statistics["comoments"] = self._comoments(scores, sums, statistics["rows"][..., -2:])
        return statistics

    def _sums(self, scores: Scores) -> tuple[RowSums, Tensor | None, Tensor | None]:
        """Return the sums of all rows, from the kernel or from written cells.

        Also the merged norms summed by category, and the ranks of T, if these are requested.
        """
        if (made := made_by_kernel(scores.record)) is not None:
            merged = None if made.merged is None else made.merged[..., : len(CATEGORIES)]
            return made.sums, merged, None if made.factors is None else made.factors.rank
        written = {name: scores.of(name).float() for name in self._measures}
        sums, merged = self._cells.sums(written, scores.record.first), None
        if "norm" in self._measures:
            cells = scores.merged_norm[:, None]
            merged = over_keys(cells, self._key_members[:, : cells.shape[3]])[:, 0]
        return sums, merged, scores.rank if "effective" in self._measures else None

    def _comoments(
        self,
        scores: Scores,
        sums: RowSums,
        powers: Float[Tensor, "batch measure_head query power=2"],
    ) -> Float[Tensor, "batch head query sum=5"]:
        """Return the sums of each row for the correlation of weights and effective attention."""
        total, square = double(powers).unbind(-1)
        raw, effective = (
            (total[:, places], square[:, places])
            if (places := sums.heads.get(name)) is not None
            else sums_by_row(scores.of(name))
            for name in ("weight", "effective")
        )
        return moments_by_row(raw, effective, scores.record.visible_counts, self._key_lengths)

    def _requested_sums(self, queries: Positions) -> Asked:
        """Return the sums that all parts request of the rows of a batch.

        The columns are the keys of each category, then those of behaviours: all keys, words, and
        last the first token.
        """
        counter = next((part for part in self._parts if isinstance(part, BehaviourCounter)), None)
        links = next((part.links for part in self._parts if part.links is not None), None)
        if counter is None:
            places = torch.arange(self._key_members.shape[1], device=self._begin.device)
            first = (places == self._begin[:, None]).float()
            columns = torch.stack([torch.ones_like(first), first], -1)
            pairs: Callable[[slice, int], PairLists] = partial(_no_pairs, len(first))
        else:
            columns, pairs = counter.key_columns, counter.pairs
        columns = torch.cat([self._key_members, columns], -1)
        return Asked(columns, OFFSETS, queries.category >= 0, pairs, links)

    def _summary(self, scores: Scores, rows: dict[str, Tensor]) -> dict[str, Any]:
        """Return the statistics of a layer, given those of all its rows."""
        summary: dict[str, Any] = {}
        means: dict[str, dict[str, Tensor]] = {}
        if self._measures:
            together = double(self._mean_weights(self._heads) @ rows["rows"])
            summary |= {"heads": self._heads, "together": together}
            means = self._split_measures(self._heads, together)
        for part in self._parts:
            part.note_layer(SeenLayer(scores.record, scores, means))
        if "norm" in self._measures:
            summary |= self._norms(scores, rows["merged"])
        if "effective" in self._measures:
            summary["rank"] = double(rows["rank"].amax(-1))
            summary["comoments"] = summed(rows["comoments"], self._present)
        return summary

    def _split_measures(
        self, heads: Mapping[str, slice], together: Float[Tensor, "batch head category number"]
    ) -> dict[str, dict[str, Tensor]]:
        """Split the means of all measures into those of each measure."""
        before = np.cumsum([len(CATEGORIES), len(OFFSETS), 1, 1]).tolist()
        total, neighbour, entropy, first, others = together.tensor_split(before, dim=-1)
        neighbour, entropy = neighbour[:, :, 0], entropy[..., 0]
        if self._kind == "cross":
            neighbour = torch.full_like(neighbour, torch.nan)
        means = {"total": total, "neighbour": neighbour, "entropy": entropy}
        if self._kind == "decoder":
            means["first"] = first[..., 0]
        by_name = {}
        for name, heads_of_measure in heads.items():
            by_name[name] = {kind: values[:, heads_of_measure] for kind, values in means.items()}
            if measure(name).needs == "gradient":
                by_name[name]["entropy"] = (
                    entropy[:, heads_of_measure] / others[:, heads_of_measure, ..., 0]
                )
        return by_name

    def _align_measures(self, of_layer: dict[str, Any]) -> dict[str, Tensor]:
        """Return the statistics of a layer, with measures along the third axis."""
        if not of_layer:
            return {}
        means = self._split_measures(of_layer.pop("heads"), of_layer.pop("together"))
        return of_layer | align_measures([means[name] for name in self._measures])

    def _mean_weights(
        self, heads: Mapping[str, slice]
    ) -> Float[Tensor, "batch head category query"]:
        """Return the weights of the mean over queries; NaN for categories that a text lacks."""
        weights, key = self._weights, (*heads.items(), self._sample is None)
        if str(key) not in weights:
            parts = []
            for name, of_measure in heads.items():
                of_heads = mean_weights(self._members_of(name))[:, None]
                parts.append(of_heads.expand(-1, of_measure.stop - of_measure.start, -1, -1))
            weights[str(key)] = torch.cat(parts, 1).float().to(self._begin.device)
        return weights[str(key)]

    def _members_of(self, name: str) -> Membership:
        if self._sample is None or name in OF_ALL_QUERIES:
            return self._query_members
        return self._query_members * self._sample[..., None]

    def _norms(self, scores: Scores, merged: Tensor) -> dict[str, Tensor]:
        """Return the statistics of norms; those of x only where it was recorded."""
        weights = self._mean_weights({"norm": slice(0, 1)})
        statistics = {
            "merged": (weights.to(merged) @ merged)[:, 0],
            "vector_norm": scores.vectors.norm.transpose(1, 2).flatten(0, 1),
        }
        inputs = inputs_of(scores.record)
        if inputs is not None:
            statistics["input_norm"] = input_norm(inputs).flatten()
        return statistics

    def _by_length(self, correlation: np.ndarray) -> Grouped:
        grouped = Grouped(Moments())
        lengths = array(self._key_lengths).astype(np.int64)
        grouped.update(lengths // LENGTH_BIN * LENGTH_BIN, correlation)
        return grouped


def align_measures(by_measure: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the statistics of a layer, ``[text, head, measure, ...]``, given those by measure."""
    heads = max(statistics["entropy"].shape[1] for statistics in by_measure)
    aligned = {}
    for name in by_measure[0]:
        parts = [double(filled(statistics[name], heads)) for statistics in by_measure]
        aligned[name] = torch.stack(parts, dim=1).movedim(2, 1)  # attribution: one row
    return aligned


def separate_first(total: Array, first: Array, category: Array, measures: Sequence[str]) -> Array:
    """Return the sums for the first token, followed by each category without it.

    Args:
        total: Sums by category, ``[text, layer, head, measure, query_category, key_category]``.
        first: Sums for the first token, without the last axis.
        category: Category of the first token of each text, ``[text, 1]``.
        measures: Measures, in their order.
    """
    is_own = (category == np.arange(len(CATEGORIES))).reshape(len(category), *[1] * 4, -1)
    beside = total - np.where(is_own, first[..., None], 0)
    unsigned = np.array([not measure(name).signed for name in measures])[:, None, None]
    # Rounding may leave a small sum in a category that holds the first token alone.
    beside = np.where(unsigned | (np.abs(beside) < ROUNDING), np.maximum(beside, 0), beside)
    return np.concatenate([first[..., None], beside], -1)


def _no_pairs(texts: int, queries: slice, keys: int) -> PairLists:
    del keys
    return PairLists((), 0, texts, queries)
