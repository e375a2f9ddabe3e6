"""What is kept of the pairs of one group, for the correlation of their ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float32, Int64

from headlight.reduce.base import Array
from headlight.reduce.float_bins import Codes, FloatBins

CHUNK_BITS = 15
CHUNK = 1 << CHUNK_BITS
"""Pairs that are looked at together: what belongs to them stays in the cache."""
SHARED_BITS = 6
"""Of places in a row, while pairs are added.  Twice this, twice `CHUNK_BITS` and the bits of the
places of x are to be 53 at most."""
NONE, SEVERAL = -1, -2
"""What `only` says of a code that no number had, and of one that several numbers had."""
COUNT, PLACE, SHARED, PRODUCT = range(4)
"""The sums of a cell: n, Σt, Σs and Σts."""

Columns = Float32[np.ndarray, "column pair"]
Rows = Int64[np.ndarray, " row"]
Union = Int64[np.ndarray, " union"]
PerColumn = Int64[np.ndarray, " column"]
Sums = Int64[np.ndarray, "row sum=4 bin"]


@dataclass(frozen=True)
class Resolution:
    """How finely ranks are told apart.

    Args:
        first: The bins of the variable that differs from pair to pair.
        second: The bins of the variable that whole columns share.
        rows: The most rows of the table; a row is one bin of the second variable, or 2, 4, 8, ...
            neighbours where otherwise there would be too many.
    """

    first: FloatBins
    second: FloatBins
    rows: int


class RankTable:
    """Whole-number sums over the pairs (x, y) of one group, both >= 0.

    A cell is a bin of x and a row of y.  Of its pairs it knows n, Σt, Σs and Σts, where t and s are
    the places of x and of y in its bin and its row.  Beside the cells stand how often every code of
    x and of y was seen, and for every code the bits of the number that had it, if it was only one.

    The state depends on the pairs alone, and not on their order: rows are joined once their number
    demands it, and what demanded it does not go away.
    """

    fields: ClassVar = (
        "rows",
        "cells",
        "first_counts",
        "first_only",
        "second_rows",
        "second_counts",
        "second_only",
    )

    def __init__(self, resolution: Resolution) -> None:
        first, second = resolution.first, resolution.second
        self.resolution = resolution
        self.level = 0
        """A row is 2^level bins of y: those before ``row << level`` + 1 do not belong to it."""
        self.rows = np.zeros(0, dtype=np.int64)
        self.cells = np.zeros((0, 4, first.bins), dtype=np.int64)
        self.first_counts = np.zeros((0, first.places), dtype=np.int64)  # no rows until there are
        self.first_only = np.zeros((0, first.places), dtype=np.int32)
        self.second_rows = np.zeros(0, dtype=np.int64)
        self.second_counts = np.zeros((0, second.places), dtype=np.int64)
        self.second_only = np.zeros((0, second.places), dtype=np.int32)

    def see(self, first: Columns, second: Float32[np.ndarray, " column"]) -> None:
        """See columns of pairs; NaN in ``first`` where one is missing, but not in a whole column.

        Nothing is negative.
        """
        second = second + np.float32(0)  # turns -0.0 into 0.0
        codes = self.resolution.second.codes(second)
        order = np.argsort(codes, kind="stable")
        second, codes = second[order], codes[order]
        level = self._working_level(codes)
        row = self._row(codes, level)
        starts = np.flatnonzero(np.diff(row, prepend=-2))
        local = np.cumsum(np.diff(row, prepend=row[0]) != 0)
        place = self._place(codes, row, level)
        sums = np.zeros((len(starts), 4, self.resolution.first.bins), dtype=np.int64)
        self._open()
        present = np.zeros(len(order), dtype=np.int64)
        for columns, pairs in _chunks(*first.shape):
            values = np.add(first[order[columns], pairs], np.float32(0))
            present[columns] += self._see_chunk(values, place[columns], local[columns], sums)
        self._add_cells(row[starts], sums, level)
        self._note_second(second, codes, present)

    def absorb(self, other: "RankTable") -> None:
        """Take in what another table has seen."""
        if not len(other.first_counts):
            return
        self._open()
        self._add_cells(other.rows, other.cells, other.level)
        self.first_counts += other.first_counts
        self.first_only = joined(self.first_only, other.first_only)
        places = self._second_places(other.second_rows)
        self.second_counts[places] += other.second_counts
        self.second_only[places] = joined(self.second_only[places], other.second_only)

    def arrays(self) -> dict[str, Array]:
        """The state, not copied."""
        return {name: getattr(self, name) for name in self.fields}

    def restore(self, level: int, arrays: Mapping[str, Array]) -> None:
        """Become what ``arrays`` gave, and share its memory."""
        self.level = level
        for name in self.fields:
            setattr(self, name, arrays[name])

    def _open(self) -> None:
        first = self.resolution.first
        if not len(self.first_counts):
            self.first_counts = np.zeros((first.bins, first.places), dtype=np.int64)
            self.first_only = np.full((first.bins, first.places), NONE, dtype=np.int32)

    def _see_chunk(
        self, values: Columns, place: PerColumn, local: PerColumn, sums: Sums
    ) -> PerColumn:
        """Add the pairs of columns to the sums of their rows; how many each column has."""
        first = self.resolution.first
        codes = first.codes(values)
        missing = np.isnan(values) if np.isnan(values.min()) else None
        if missing is not None:
            codes[missing] = first.bins << first.place_bits  # one bin more, which is let go
        self._add_sums(codes, place, local - local[0], sums[local[0] : local[-1] + 1])
        bits = values.view(np.int32)
        if missing is None:
            self._note_first(codes.ravel(), bits.ravel())
            return np.full(len(values), values.shape[1])
        self._note_first(codes[~missing], bits[~missing])
        present: PerColumn = (~missing).sum(axis=1)
        return present

    def _note_first(self, codes: Codes, bits: Codes) -> None:
        codes = codes.astype(np.int64)
        counts = self.first_counts.reshape(-1)
        counts += np.bincount(codes, minlength=len(counts))
        _note(self.first_only.reshape(-1), codes, bits)

    def _add_sums(self, codes: Codes, place: PerColumn, local: PerColumn, sums: Sums) -> None:
        """The four sums of every cell, from two: a float64 has room for two whole numbers."""
        first = self.resolution.first
        bins, rows = first.bins + 1, len(sums)
        room = CHUNK_BITS + first.place_bits + SHARED_BITS  # bits of Σts
        cell = codes >> first.place_bits
        cell += (local * bins).astype(np.int32)[:, None]
        flat = cell.ravel().astype(np.int64)
        weights = np.add(codes & (first.places - 1), float(1 << room))
        plain = np.bincount(flat, weights.ravel(), rows * bins)
        weights *= place.astype(np.float64)[:, None]
        shared = np.bincount(flat, weights.ravel(), rows * bins)
        for high, low, packed in ((COUNT, PLACE, plain), (SHARED, PRODUCT, shared)):
            whole = packed.astype(np.int64).reshape(rows, bins)[:, :-1]
            sums[:, high] += whole >> room
            sums[:, low] += whole & ((1 << room) - 1)

    def _row(self, codes: Codes, level: int) -> PerColumn:
        """The rows of codes of y at a level; that of zero is -1 at all levels."""
        bins: PerColumn = (codes >> self.resolution.second.place_bits).astype(np.int64) - 1
        return bins >> level

    def _place(self, codes: Codes, row: PerColumn, level: int) -> PerColumn:
        """The places of codes of y in their rows."""
        start = ((row << level) + 1) << self.resolution.second.place_bits
        return np.where(row >= 0, codes - start, 0)

    def _working_level(self, codes: Codes) -> int:
        """As high as the table's level will be, if places in rows are not too many to add up."""
        rows = _distinct(self._row(codes, self.level))
        highest = SHARED_BITS - self.resolution.second.place_bits
        return min(self._fitting(rows, self.level)[1], highest)

    def _fitting(self, rows: Rows, level: int) -> tuple[Union, int]:
        """All rows, with these of some level, once there are few enough, and their level then."""
        target = max(self.level, level)
        union = np.union1d(self.rows >> (target - self.level), rows >> (target - level))
        while len(union) > self.resolution.rows:
            union, target = _distinct(union >> 1), target + 1
        return union, target

    def _add_cells(self, rows: Rows, sums: Sums, level: int) -> None:
        """Add sums of rows of some level, and join rows until they are not too many."""
        union, target = self._fitting(rows, level)
        rows, sums = self._raised(rows, sums, level, target)
        self.rows, self.cells = self._raised(self.rows, self.cells, self.level, target)
        if len(union) > len(self.rows):
            self.cells = _spread(self.cells, np.searchsorted(union, self.rows), len(union), 0)
        self.rows, self.level = union, target
        self.cells[np.searchsorted(union, rows)] += sums

    def _raised(self, rows: Rows, sums: Array, level: int, target: int) -> tuple[Union, Array]:
        """Rows joined 2^(target - level) at a time; that of zero, -1, stays alone."""
        if level == target or not len(rows):
            return rows, sums
        joined = rows >> (target - level)
        inside = (rows - (joined << (target - level))) << level  # bins before it in its new row
        shift = np.where(rows >= 0, inside << self.resolution.second.place_bits, 0)
        union = _distinct(joined)
        moved = np.zeros((len(union), *sums.shape[1:]), dtype=np.int64)
        for place, by, old in zip(np.searchsorted(union, joined), shift, sums, strict=True):
            moved[place] += old
            moved[place, SHARED:] += by * old[:SHARED]  # Σ(s + by) and Σt(s + by)
        return union, moved

    def _note_second(
        self, values: Float32[np.ndarray, " column"], codes: Codes, present: PerColumn
    ) -> None:
        bits = self.resolution.second.place_bits
        rows = np.unique(codes >> bits).astype(np.int64)
        places = self._second_places(rows)
        local = (np.searchsorted(rows, codes >> bits) << bits) + (codes & ((1 << bits) - 1))
        counts = np.zeros(len(rows) << bits, dtype=np.int64)
        np.add.at(counts, local, present)
        self.second_counts[places] += counts.reshape(len(rows), -1)
        only = self.second_only[places]
        _note(only.reshape(-1), local, values.view(np.int32))
        self.second_only[places] = only

    def _second_places(self, rows: Rows) -> Rows:
        """Where these rows are among the counts of y; those that are new are made."""
        union = np.union1d(self.second_rows, rows)
        if len(union) > len(self.second_rows):
            old = np.searchsorted(union, self.second_rows)
            self.second_counts = _spread(self.second_counts, old, len(union), 0)
            self.second_only = _spread(self.second_only, old, len(union), NONE)
            self.second_rows = union
        return np.searchsorted(self.second_rows, rows)


def _chunks(columns: int, pairs: int) -> Iterator[tuple[slice, slice]]:
    """All columns in parts of at most `CHUNK` pairs; columns only where they are too long."""
    width = max(1, min(pairs, CHUNK))
    height = max(1, CHUNK // width)
    for start in range(0, columns, height):
        for left in range(0, pairs, width):
            yield slice(start, start + height), slice(left, left + width)


def _distinct(rising: Array) -> Array:
    """The different numbers among some that do not fall."""
    return rising[np.diff(rising, prepend=rising[0] - 1) != 0] if len(rising) else rising


def _spread(values: Array, places: Rows, length: int, fill: int) -> Array:
    """Rows moved to their new places, among rows that are filled."""
    made = np.full((length, *values.shape[1:]), fill, dtype=values.dtype)
    made[places] = values
    return made


def _note(only: Array, codes: Array, bits: Array) -> None:
    """Keep, for every code, the number that had it, or that there were several."""
    known = only.take(codes)
    news = np.flatnonzero((known != bits) & (known != SEVERAL))
    if not len(news):
        return
    codes, bits = codes[news], bits[news]
    only[codes] = bits  # of several numbers with one code, one
    only[codes[(only.take(codes) != bits) | (known[news] != NONE)]] = SEVERAL


def joined(one: Array, two: Array) -> Array:
    """What `only` says of the numbers of both."""
    both = np.where(one == NONE, two, one)
    both[(one != two) & (one != NONE) & (two != NONE)] = SEVERAL
    return both
