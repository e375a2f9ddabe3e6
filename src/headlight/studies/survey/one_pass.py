"""All sums over the cells of a measure in one pass over them, where that can be compiled.

The same is said by `headlight.pool` and `headlight.measures.norm` in a pass for each, on every
device and in every precision.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.analysis.batch_runner import Positions
from headlight.pool import Membership, Pairs
from headlight.reduce.base import Array
from headlight.studies.survey.row_loops import (
    LOWEST,
    MAGNITUDE,
    STEP,
    Asked,
    HeadSums,
    RowSums,
    Texts,
    compiled,
    filled_up,
)
from headlight.tensors import Score

GROUPS = ("duplicate", "induction", "subword")
"""Behaviours whose keys are listed; along the axis of `HeadSums.groups`."""

FEW = 1 << 16
"""Cells for which another thread is not worth it."""


class Sums(NamedTuple):
    """Sums of one pass over some queries of a measure."""

    rows: RowSums
    heads: HeadSums

    def row(self, name: str) -> Tensor:
        """One of `RowSums`."""
        return torch.from_numpy(getattr(self.rows, name))

    def head(self, name: str) -> Tensor:
        """One of `HeadSums`."""
        return torch.from_numpy(getattr(self.heads, name))


class OnePass:
    """Looks at measures of one batch.

    Args:
        queries: of the batch.
        members: which keys are of which category.
        offsets: of neighbours.
        links: keys among which the largest entry of each row is wanted; none by default.
    """

    def __init__(
        self,
        queries: Positions,
        members: Membership,
        offsets: tuple[int, ...],
        links: Bool[Tensor, "batch key"] | None = None,
    ) -> None:
        self._keys, self._links = members.shape[1], links
        self._sides = queries, members
        self._offsets = np.array(offsets, dtype=np.int64)

    @cached_property
    def _there(self) -> Array:
        return (self._sides[0].category >= 0).numpy().astype(np.uint8)

    @cached_property
    def _members(self) -> Array:
        missing = filled_up(self._keys) - self._keys
        filled = torch.nn.functional.pad(self._sides[1].mT.float(), (0, missing))
        return filled.contiguous().numpy()

    @cached_property
    def _bounds(self) -> Array:
        if self._links is None:
            return np.full((len(self._there), self._keys), LOWEST)
        return np.where(self._links.numpy(), MAGNITUDE, LOWEST)

    def look(
        self, score: Score, first: int, cell_queries: Asked | None, *, share: bool, diagonal: bool
    ) -> Sums | None:
        """All sums over some queries; None where they have to be taken one by one.

        Args:
            score: of these queries.
            first: the number of the first of them.
            cell_queries: about single keys, if anything.
            share: whether entries are shares as they are.
            diagonal: whether sums along diagonals are wanted.
        """
        if score.device.type != "cpu" or score.dtype != torch.float32 or not score.numel():
            return None
        cells = score.detach().contiguous().numpy()
        queries = slice(first, first + cells.shape[2])
        place = np.array([first, self._keys, share], dtype=np.int64)
        query_mask = np.ascontiguousarray(self._there[:, queries])
        texts = Texts(self._members, self._offsets, query_mask, place, self._bounds)
        rows = _rows(cells.shape[:3], self._members.shape[1], len(self._offsets))
        offsets = 2 * self._keys - 1 + STEP if diagonal else 0
        heads = _heads(cells.shape, offsets, cell_queries)
        _in_threads(compiled(), cells.size, cells, texts, rows, heads, cell_queries)
        return Sums(rows, heads._replace(diagonal=heads.diagonal[..., : 2 * self._keys - 1]))


def listed(lists: tuple[Pairs, ...], texts: int, queries: slice) -> tuple[Array, Array]:
    """The keys of pairs, list after list, and where those of each query of each text begin.

    Args:
        lists: of pairs on the CPU, ordered by text and query.
        texts: how many there are.
        queries: which queries the pairs are of.
    """
    width = queries.stop - queries.start
    bounds = np.zeros((len(lists), texts * width + 1), dtype=np.int64)
    begin = 0
    for number, pairs in enumerate(lists):
        row = (pairs.text * width + pairs.query - queries.start).numpy()
        counts = np.bincount(row, minlength=texts * width)
        bounds[number, 1:] = np.cumsum(counts)
        bounds[number] += begin
        begin += len(row)
    keys = np.concatenate([pairs.key.numpy() for pairs in lists] or [np.zeros(0, np.int64)])
    return bounds, keys


def _rows(shape: tuple[int, ...], categories: int, offsets: int) -> RowSums:
    """Room for the sums of rows."""
    single = partial(np.empty, dtype=np.float32)
    return RowSums(
        categories=single((*shape, categories)),
        neighbours=single((*shape, offsets)),
        entropy=single(shape),
        size=np.empty(shape),
        total=np.empty(shape),
        square=np.empty(shape),
        largest=single(shape),
        factor=np.empty(shape),
        linked=single(shape),
    )


def _heads(shape: tuple[int, ...], offsets: int, cells: Asked | None) -> HeadSums:
    """Nothing yet of each head."""
    firsts, kinds = (0, 0) if cells is None else (cells.firsts.shape[1], cells.queries.shape[2])
    heads = shape[:2]
    return HeadSums(
        diagonal=np.zeros((*heads, offsets)),
        columns=np.zeros((*heads, shape[3])),
        first=np.zeros(shape[:3] if cells is not None else (*heads, 0)),
        firsts=np.zeros((*heads, firsts)),
        groups=np.zeros((*heads, len(GROUPS), 2)),
        listed=np.zeros((*heads, len(GROUPS), shape[2] if cells is not None else 0)),
        hits=np.zeros((*heads, 2)),
        counts=np.zeros((*heads, kinds, 3)),
    )


def _in_threads(loop: Callable[..., Any], cells: int, *arguments: Any) -> None:
    """As many threads as torch has; each has heads of its own, so that no bit depends on them."""
    threads = min(torch.get_num_threads(), 1 + cells // FEW)
    if threads == 1:
        loop(*arguments, 1, 0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(partial(loop, *arguments, threads), range(threads)))
