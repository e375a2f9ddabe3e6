"""Measures of every head on one text, kept layer by layer while the model runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord
from headlight.catalogue.question_settings import ReadingSettings
from headlight.errors import UsageError
from headlight.measures import Scores
from headlight.measures.layer_vectors import Vectors
from headlight.vocabulary import Kind, Measure, ValueBias, measure_table

Measured = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Part:
    """Part of one kind of attention that is kept: heads and queries."""

    heads: list[int]
    queries: list[int]


def part_of(
    sites: Sequence[AttentionSite],
    tokens: int,
    settings: ReadingSettings,
) -> Part:
    """Return the part of layers that is kept while a text runs through them.

    Args:
        sites: Layers.
        tokens: Number of attending tokens.
        settings: Settings of the reading, with the heads and queries to keep.

    Raises:
        UsageError: No head or query is selected, or a selected one does not exist.
    """
    most = max(site.heads for site in sites)
    heads = _chosen("head", settings.heads, most)
    return Part(heads, _chosen("query", settings.queries, tokens))


def _chosen(what: str, numbers: Sequence[int] | None, count: int) -> list[int]:
    if numbers is None:
        return list(range(count))
    chosen = sorted(set(numbers))
    wrong = [number for number in chosen if not 0 <= number < count]
    if wrong or not chosen:
        which = f"there is no {what} {wrong[0]}" if wrong else f"no {what} is selected"
        raise UsageError(f"{which}; choose from 0 to {count - 1}, or leave them out for all.")
    return chosen


@dataclass(eq=False, repr=False)
class ReadLayers:
    """Observer of the layers of a running model, whole or in blocks of queries; it fills `seen`.

    Attributes:
        parts: Heads and queries to keep, by kind of attention.
        value_bias: Treatment of the value bias in T of effective attention.
        contributions: Contributions of input tokens, by layer, where they are computed.
        done: Function that is called after each layer.
    """

    parts: Mapping[Kind, Part]
    value_bias: ValueBias
    contributions: Float[Tensor, "layer batch query key"] | None
    done: Callable[[], None]
    seen: dict[AttentionSite, Measured] = field(default_factory=dict, init=False)
    _vectors: Vectors | None = field(default=None, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep the requested measures of some queries of a layer, or of all."""
        if self.contributions is not None:
            rows = self.contributions[record.site.layer][:, record.first :]
            cut = rows[:, : record.weight.shape[2], : record.weight.shape[3]]
            record = replace(record, attribution=cut)
        # Transformed vectors are passed on from one block of queries of a layer to the next.
        scores = Scores(record, self.value_bias, vectors=self._vectors if record.first else None)
        self._vectors = scores.vectors
        measured = self.seen.setdefault(record.site, {})
        for row in measure_table():
            is_available = row.needs is None or getattr(record, row.needs) is not None
            if is_available:
                self._keep(measured, row, scores)
        if record.ends:
            self._vectors = None
            self.done()

    def _keep(self, measured: Measured, row: Measure, scores: Scores) -> None:
        """Write a measure of these queries into the measure of the whole layer.

        A measure without queries is the maximum over all blocks, which hold ever more keys.
        """
        axes, cuts = row.axes[1:], self._cuts(scores.record)
        score = scores.of(row.name)[0]
        score = score[0] if row.pairwise and not row.per_head else score
        for dimension, axis in enumerate(axes):
            score = cuts[axis].of(score, dimension)
        if row.name not in measured:
            # What a query cannot see is 0; a head that a layer lacks is no number.
            empty = 0.0 if "query" in axes else np.nan
            sizes = [cuts[axis].size for axis in axes]
            measured[row.name] = np.full(sizes, empty, dtype=np.float32)
            if "head" in axes:
                measured[row.name][len(cuts["head"].taken) :] = np.nan
        target = measured[row.name][tuple(cuts[axis].place for axis in axes)]
        values = score.detach().float().cpu().numpy()
        target[...] = values if "query" in axes else np.fmax(target, values)

    def _cuts(self, record: LayerRecord) -> "dict[str, _Cut]":
        part, (queries, keys) = self.parts[record.site.kind], record.weight.shape[2:]
        all_keys = (record.value if record.block is None else record.block.value).shape[2]
        heads = [head for head in part.heads if head < record.site.heads]
        place = slice(*np.searchsorted(part.queries, (record.first, record.first + queries)))
        inside = [query - record.first for query in part.queries[place]]
        return {
            "head": _Cut(len(part.heads), slice(len(heads)), heads),
            "query": _Cut(len(part.queries), place, inside),
            "key": _Cut(all_keys, slice(keys), range(keys)),
        }


class _Cut(NamedTuple):
    """Cut of an axis, and its place among the `size` numbers that are kept."""

    size: int
    place: slice
    taken: Sequence[int]

    def of(self, score: Tensor, dimension: int) -> Tensor:
        """Return the score, cut along that dimension."""
        if len(self.taken) == score.shape[dimension]:
            return score
        index = torch.tensor(self.taken, dtype=torch.long, device=score.device)
        return score.index_select(dimension, index)
