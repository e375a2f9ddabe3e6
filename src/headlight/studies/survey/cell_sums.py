"""Sums over the cells of a measure, all in one pass over them, where that can be compiled.

A row is read once while it is in the cache, and all sums are made of it.  Sums are float64, each of
one row or of one head of one text: so no bit of them depends on other texts or on threads.  The
same is said by `headlight.pool` and `headlight.measures.norms` in a pass for each, on every device
and in every precision.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, no_type_check

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.measures.compiled_loops import compile_loop
from headlight.measures.float32_logarithm import (
    HALF,
    LN_2,
    MANTISSA,
    ONE,
    P0,
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    ROOT_HALF_BITS,
)
from headlight.observations.positions import Positions
from headlight.pool import Membership, Pairs
from headlight.reduce.accumulator import Array
from headlight.tensors import Score

STEP = 64
"""Cells that a processor takes in one step, all sums having several parts; where fewer are left, it
takes them one by one.  So rows are filled up with zeros, which change no sum."""

CELLS = 1024
"""Sums over this many cells are taken in float32 where they become numbers of float32."""

BLOCK = 1 << 13
"""Cells that are looked at together, so that they stay in the cache."""

MAGNITUDE, SIGN = np.int32(0x7FFFFFFF), np.int32(31)
"""The bits of a float32 without that of its sign, and where that stands."""

LOWEST = np.int32(0x007FFFFF ^ -0x80000000)
"""−∞ among bits of floats that are in the order of these, as in `_find_highest`."""


class Texts(NamedTuple):
    """Texts of a batch, for some of their queries.

    Attributes:
        members: ``batch category key``; 1 where a key is of a category; filled up with zeros.
        offsets: of neighbours.
        there: ``batch query``; 1 for queries, 0 for padding.
        place: number of the first query, keys of the whole text, and 1 if the measure is a share.
        bounds: ``batch key``; `MAGNITUDE` for keys among which `RowSums.linked` is, else `LOWEST`.
    """

    members: Array
    offsets: Array
    there: Array
    place: Array
    bounds: Array


class RowSums(NamedTuple):
    """Sums of each row, ``batch head query``; float64 where nothing else is said.

    Attributes:
        categories: what goes to the keys of each category, along one more axis; float32.
        neighbours: what goes to the key at each offset, along one more axis; NaN where the text has
            no such key; float32.
        entropy: of the absolute values; float32.
        size: sum of the absolute values.
        total: sum.
        square: sum of the squares.
        largest: entry, float32.
        factor: by which entries become shares; 0 in padding and where nothing is given, of which no
            sum over queries has any part.
        linked: largest entry of the keys of `Texts.bounds`, −∞ where there are none; float32.
    """

    categories: Array
    neighbours: Array
    entropy: Array
    size: Array
    total: Array
    square: Array
    largest: Array
    factor: Array
    linked: Array


class Asked(NamedTuple):
    """Keys to sum for each query of a batch.

    Attributes:
        begin: ``batch``; the first token.
        firsts: ``batch first``; the first tokens.
        queries: ``batch query asked``; 1 where a query is asked, 0 elsewhere; the first tokens,
            then others, last whether there is such a query.
        bounds: ``list row``; where the keys of each query of each text begin in `keys`; lists are
            of the same token before, of the same word before, and of the token that comes next.
        keys: of all lists.
        first: number of the first query.
        far: distance from which on a copy is far.
    """

    begin: Array
    firsts: Array
    queries: Array
    bounds: Array
    keys: Array
    first: int
    far: int


class HeadSums(NamedTuple):
    """Sums over the queries of a text, ``batch head``, and one or two axes more.

    Attributes:
        diagonal: what goes to keys at each offset, from ``1 - keys``, and room for `STEP` numbers.
        columns: what goes to each key, as a share; its axis is ``key``.
        first: what each query gives to the first token; its axis is ``query``.
        firsts: what goes to each of the first tokens from the queries that are asked.
        groups: what goes to the same token before, to the token after that, and to the same word
            before; in all, and without the first token.
        listed: the first of these of each query, along one more axis.
        hits: queries whose largest entry is the token that comes next; and so from far.
        counts: of the queries that are asked, how many give something, what they give in all, which
            is 1 each where the measure is a share, and of that to others than the first token.
    """

    diagonal: Array
    columns: Array
    first: Array
    firsts: Array
    groups: Array
    listed: Array
    hits: Array
    counts: Array


def filled_up(columns: int) -> int:
    """So many cells have rows of this many when they are filled up with zeros."""
    return -(-max(1, columns) // STEP) * STEP


@cache
def compiled() -> Callable[..., Any]:
    """Return the loop over cells, which also takes single ones of those that it has read."""
    helpers = (
        filled_up,
        _find_ends,
        _add_up,
        _find_highest,
        _times_logarithm,
        _take_entropies,
        _add_by_category,
        _take_neighbours,
        _add_columns,
        _add_diagonals,
        _add_counts,
        _add_firsts,
        _add_listed,
        _add_hits,
        _take_single,
    )
    return compile_loop(_over_cells, helpers)


@no_type_check
def _over_cells(score, texts, rows, sums, single, step, start):
    """Fill the sums of the rows of every ``step``-th head from ``start`` on, and those of heads.

    Rows are looked at in blocks that stay in the cache, one sum after the other: to take hold of an
    array costs as much as the cells of a short row.  Single cells, if any are wanted, are taken of
    a head while it is there.
    """
    heads, queries, columns = score.shape[1:]
    diagonal, column = sums.diagonal, sums.columns
    first, keys, share = texts.place
    width = filled_up(columns)
    height = max(1, BLOCK // width)
    ends, peaks = np.empty(height, np.int64), np.empty(height, np.float32)
    copied = np.zeros((height, width), np.float32)
    for at in range(start, score.shape[0] * heads, step):
        text, head = at // heads, at % heads
        for query in range(0, queries, height):
            here = text, head, slice(query, query + height)
            block = score[here]
            if columns < width:
                copied[: len(block), :columns] = block
                block = copied[: len(block)]
            bits = block.view(np.int32)
            _find_ends(bits, ends)
            size, total, factor = rows.size[here], rows.total[here], rows.factor[here]
            _add_up(block, ends, total, size, rows.square[here])
            bounds = texts.bounds[text, :columns]
            _find_highest(bits, bounds, peaks, rows.largest[here], rows.linked[here])
            _take_entropies(block, ends, size, peaks, rows.entropy[here])
            _add_by_category(block, ends, texts.members[text], rows.categories[here])
            _take_neighbours(score[here], first + query, keys, texts.offsets, rows.neighbours[here])
            for row in range(len(block)):
                factor[row] = 0.0
                if texts.there[text, query + row]:
                    factor[row] = 1.0 if share else (1 / total[row] if total[row] > 0 else 0.0)
            _add_columns(block, ends, factor, column[text, head])
            if diagonal.shape[2]:
                _add_diagonals(block, ends, factor, diagonal[text, head], keys - 1 - first - query)
        if single is not None:
            _take_single(score[text, head], rows, single, sums, text, head, share)


@no_type_check
def _find_ends(bits, ends):
    """From which cell on there are only zeros in each row, as in most under a causal mask."""
    for row in range(len(bits)):
        end = bits.shape[1]
        while end:
            last, some = bits[row, end - STEP : end], np.int32(0)
            for key in range(len(last)):
                some = np.int32(some | last[key])
            if np.int32(some & MAGNITUDE):
                break
            end -= STEP
        ends[row] = end


@no_type_check
def _add_up(block, ends, totals, sizes, squares):
    for row in range(len(block)):
        total, size, square = 0.0, 0.0, 0.0
        for key in range(ends[row]):
            entry = np.float64(block[row, key])
            total += entry
            size += abs(entry)
            square += entry * entry
        totals[row], sizes[row], squares[row] = total, size, square


@no_type_check
def _find_highest(bits, bounds, peaks, largest, linked):
    """The largest absolute value of each row, its largest entry, and that of the bounded keys.

    Bits of floats, as whole numbers, are in the order of these, backwards where they are negative.
    """
    for row in range(len(bits)):
        peak, most, link = np.int32(0), np.int32(-MAGNITUDE), LOWEST
        for key in range(len(bounds)):
            each = bits[row, key]
            peak = max(peak, np.int32(each & MAGNITUDE))
            ordered = np.int32(each ^ np.int32(np.int32(each >> SIGN) & MAGNITUDE))
            most = max(most, ordered)
            link = max(link, min(ordered, bounds[key]))
        most = np.int32(most ^ np.int32(np.int32(most >> SIGN) & MAGNITUDE))
        link = np.int32(link ^ np.int32(np.int32(link >> SIGN) & MAGNITUDE))
        peaks[row] = np.int32(peak).view(np.float32)
        largest[row] = np.int32(most).view(np.float32)
        linked[row] = np.int32(link).view(np.float32)


@no_type_check
def _times_logarithm(share):
    """A share times its logarithm, in float32; 0 of 0."""
    bits = np.float32(share).view(np.int32)
    octave = np.int32(np.int32(bits - ROOT_HALF_BITS) >> MANTISSA)
    x = np.int32(bits - np.int32(octave << MANTISSA)).view(np.float32) - ONE
    rest = (((P8 * x + P7) * x + P6) * x + P5) * x + P4
    rest = (((rest * x + P3) * x + P2) * x + P1) * x + P0
    return share * (x + x * x * (x * rest - HALF) + np.float32(octave) * LN_2)


@no_type_check
def _take_entropies(block, ends, sizes, peaks, entropies):
    """−Σ p ln p; the largest p may be next to 1, and its logarithm is taken from the others."""
    for row in range(len(block)):
        size, end, entropies[row] = sizes[row], ends[row], 0
        if size == 0:
            continue
        inverse, entropy = np.float32(1 / size), 0.0
        for begin in range(0, end, CELLS):
            some, part = block[row, begin : min(begin + CELLS, end)], np.float32(0)
            for key in range(len(some)):  # from 0: then numba need not think of places before it
                part += _times_logarithm(np.float32(abs(some[key]) * inverse))
            entropy += part
        entropy -= _times_logarithm(np.float32(peaks[row] * inverse))
        largest, rest = peaks[row] / size, (size - peaks[row]) / size
        entropies[row] = max(-entropy - largest * np.log1p(-rest), 0.0)


@no_type_check
def _add_by_category(block, ends, members, categories):
    for row in range(len(block)):
        for category in range(len(members)):
            total = 0.0
            for begin in range(0, ends[row], CELLS):
                end, part = min(begin + CELLS, ends[row]), np.float32(0)
                some, belongs = block[row, begin:end], members[category, begin:end]
                for key in range(len(some)):
                    part += some[key] * belongs[key]
                total += part
            categories[row, category] = total


@no_type_check
def _take_neighbours(block, first, keys, offsets, neighbours):
    for row in range(len(block)):
        for number in range(len(offsets)):
            key = first + row + offsets[number]
            default = np.float32(0) if 0 <= key < keys else np.float32(np.nan)
            neighbours[row, number] = block[row, key] if 0 <= key < block.shape[1] else default


@no_type_check
def _add_columns(block, ends, factors, column):
    for row in range(len(block)):
        factor = factors[row]
        for key in range(min(ends[row], len(column))):
            column[key] += factor * block[row, key]


@no_type_check
def _add_diagonals(block, ends, factors, diagonal, zero):
    for row in range(len(block)):
        along = diagonal[zero - row :]
        if factors[row] != 0:
            for key in range(ends[row]):
                along[key] += block[row, key]


@no_type_check
def _take_single(block, rows, cells, sums, text, head, share):
    """Add what is asked of single cells of a head."""
    here = text, head
    factors, first, largest = rows.factor[here], sums.first[here], rows.largest[here]
    begin, queries = cells.begin[text], cells.queries[text]
    for query in range(len(block)):
        if factors[query] != 0:
            first[query] = block[query, begin]
    _add_counts(factors, rows.total[here], first, queries, share, sums.counts[here])
    _add_firsts(block, factors, cells.firsts[text], queries, sums.firsts[here])
    if len(cells.keys):
        keys, groups, row = cells.keys, sums.groups[here], text * len(block)
        listed = sums.listed[here]
        same, pieces, copies = (
            cells.bounds[0, row:],
            cells.bounds[1, row:],
            cells.bounds[2, row:],
        )
        _add_listed(block, factors, (begin, 0), same, keys, groups[0], listed[0])
        _add_listed(block, factors, (begin, 1), same, keys, groups[1], listed[1])
        _add_listed(block, factors, (begin, 0), pieces, keys, groups[2], listed[2])
        far = cells.far - cells.first
        _add_hits(block, factors, largest, copies, keys, far, sums.hits[here])


@no_type_check
def _add_counts(factors, totals, first, queries, share, counts):
    """Queries that give something, what they give, and what to others than the first token."""
    for query in range(len(factors)):
        if factors[query] != 0:
            whole = 1.0 if share else totals[query]
            for kind in range(queries.shape[1]):
                if queries[query, kind]:
                    counts[kind, 0] += 1
                    counts[kind, 1] += whole
                    counts[kind, 2] += whole - first[query]


@no_type_check
def _add_firsts(block, factors, places, queries, firsts):
    """Add what goes to each of the first tokens."""
    for query in range(len(block)):
        if factors[query] != 0:
            for number in range(len(places)):
                if queries[query, number]:
                    firsts[number] += block[query, places[number]]


@no_type_check
def _add_listed(block, factors, about, bounds, keys, group, of_query):
    """Add what goes to the keys listed for each query, and to those of them but the first."""
    begin, beside = about
    for query in range(len(block)):
        if factors[query] != 0:
            for number in range(bounds[query], bounds[query + 1]):
                key = keys[number] + beside
                contribution = np.float64(block[query, key])
                of_query[query] += contribution
                group[0] += contribution
                if key != begin:
                    group[1] += contribution


@no_type_check
def _add_hits(block, factors, largest, bounds, keys, far, hits):
    """Queries whose largest entry is among the listed keys, and those where it is far."""
    for query in range(len(block)):
        near, distant = 0, 0
        for number in range(bounds[query], bounds[query + 1]):
            key = keys[number]
            if factors[query] != 0 and block[query, key] >= largest[query]:
                near = 1
                if query - key >= far:
                    distant = 1
        hits[0] += near
        hits[1] += distant


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
