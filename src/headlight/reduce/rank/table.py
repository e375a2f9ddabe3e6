"""What is kept of the pairs of one group, for the correlation of their ranks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float32, Int64

from headlight.reduce.base import Array
from headlight.reduce.rank.float_bins import Codes, FloatBins
from headlight.reduce.rank.pairs import (
    NONE,
    SHARED,
    SHARED_BITS,
    Columns,
    PerColumn,
    Sums,
    add_pairs,
    joined,
    note,
)

Rows = Int64[np.ndarray, " row"]
Union = Int64[np.ndarray, " union"]


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

    def see(
        self,
        first: Columns,
        columns: PerColumn,
        second: Float32[np.ndarray, " seen"],
        codes: Codes,
    ) -> None:
        """See columns of pairs, in the order of their second numbers; nothing is negative.

        Args:
            first: All columns; NaN where a pair is missing, but not in the whole of one to be seen.
            columns: Those to be seen.
            second: The second number of each of these.
            codes: Their codes, which do not fall.
        """
        level = self._working_level(codes)
        row = self._row(codes, level)
        new = _changes(row)
        where = np.stack([columns, np.cumsum(new) - 1, self._place(codes, row, level)])
        sums = np.zeros((new.sum(), 4, self.resolution.first.bins), dtype=np.int64)
        self._open()
        counts, only = self.first_counts.reshape(-1), self.first_only.reshape(-1)
        present = add_pairs(first, where, self.resolution.first, sums, counts, only)
        self._add_cells(row[new], sums, level)
        self._note_second(second, codes, present)

    def absorb(self, other: "RankTable") -> None:
        """Take in what another table has seen."""
        if not len(other.first_counts):
            return
        if not len(self.first_counts):
            self.restore(other.level, {name: each.copy() for name, each in other.arrays().items()})
            return
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
        union = _united(self.rows >> (target - self.level), rows >> (target - level))
        while len(union) > self.resolution.rows:
            union, target = _distinct(union >> 1), target + 1
        return union, target

    def _add_cells(self, rows: Rows, sums: Sums, level: int) -> None:
        """Add sums of rows of some level, and join rows until they are not too many.

        Without rows as yet, ``sums`` may become the cells.
        """
        union, target = self._fitting(rows, level)
        rows, sums = self._raised(rows, sums, level, target)
        if not len(self.rows):
            self.rows, self.cells, self.level = rows, sums, target
            return
        self.rows, self.cells = self._raised(self.rows, self.cells, self.level, target)
        if len(union) > len(self.rows):
            self.cells = _spread(self.cells, np.searchsorted(union, self.rows), len(union), 0)
        self.rows, self.level = union, target
        if len(rows) == len(union):
            self.cells += sums
        else:
            self.cells[np.searchsorted(union, rows)] += sums

    def _raised(self, rows: Rows, sums: Array, level: int, target: int) -> tuple[Union, Array]:
        """Rows joined 2^(target - level) at a time; that of zero, -1, stays alone."""
        if level == target or not len(rows):
            return rows, sums
        joined = rows >> (target - level)
        inside = (rows - (joined << (target - level))) << level  # bins before it in its new row
        shift = np.where(rows >= 0, inside << self.resolution.second.place_bits, 0)
        new = _changes(joined)
        moved = np.zeros((new.sum(), *sums.shape[1:]), dtype=np.int64)
        for place, by, old in zip(np.cumsum(new) - 1, shift, sums, strict=True):
            moved[place] += old
            if by:
                moved[place, SHARED:] += by * old[:SHARED]  # Σ(s + by) and Σt(s + by)
        return joined[new], moved

    def _note_second(
        self, values: Float32[np.ndarray, " seen"], codes: Codes, present: PerColumn
    ) -> None:
        bits = self.resolution.second.place_bits
        row = (codes >> bits).astype(np.int64)
        new = _changes(row)
        places = self._second_places(row[new])
        local = ((np.cumsum(new) - 1) << bits) + (codes & ((1 << bits) - 1))
        counts = np.bincount(local, present, len(places) << bits).astype(np.int64)
        self.second_counts[places] += counts.reshape(len(places), -1)
        only = self.second_only[places]
        note(only.reshape(-1), local, values.view(np.int32))
        self.second_only[places] = only

    def _second_places(self, rows: Rows) -> Rows:
        """Where these rows are among the counts of y; those that are new are made."""
        union = _united(self.second_rows, rows)
        if len(union) > len(self.second_rows):
            old = np.searchsorted(union, self.second_rows)
            self.second_counts = _spread(self.second_counts, old, len(union), 0)
            self.second_only = _spread(self.second_only, old, len(union), NONE)
            self.second_rows = union
        return np.searchsorted(self.second_rows, rows)


def _changes(rising: Array) -> Bool[np.ndarray, " number"]:
    """Whether each number differs from the one before it; the first does."""
    new = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    return new


def _distinct(rising: Array) -> Array:
    """The different numbers among some that do not fall."""
    found: Array = rising[_changes(rising)]
    return found


def _united(one: Union, two: Rows) -> Array:
    """The different numbers of both, rising, as they are in each of them."""
    if not len(one):
        return _distinct(two)
    both = np.concatenate([one, two])
    both.sort()
    return _distinct(both)


def _spread(values: Array, places: Rows, length: int, fill: int) -> Array:
    """Rows moved to their new places, among rows that are filled."""
    made = np.full((length, *values.shape[1:]), fill, dtype=values.dtype)
    made[places] = values
    return made
