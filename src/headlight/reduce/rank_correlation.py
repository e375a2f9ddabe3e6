"""Rank correlation over any number of pairs, in one pass and fixed memory, by a joint histogram."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int, Int32, Int64

from headlight.reduce.accumulator import Accumulator, Array

ROWS, COLUMNS = 64, 384
"""Largest numbers of bins of the second and of the first number."""
ROUNDING = 64
"""Numbers that differ by fewer steps of a float32 are equal."""
LEAST, NEAREST = np.float32(2.0**-62), np.float32(2.0**-25)
"""First numbers below `LEAST` are equal, and so are those nearer to 1 than `NEAREST`."""
ERROR = 0.005
"""Largest error of ρ, for weights and norms of trained models."""

HALF = np.float32(0.5).view(np.int32)
MISSING = np.iinfo(np.int32).max
"""Code of a missing pair."""

Keys = Int64[np.ndarray, " _"]
"""Keys of second numbers, of any length: rows of tables are joined, and merged to fewer."""
Cells = Int64[np.ndarray, "row bin"]


class RankCorrelation(Accumulator):
    """Spearman's ρ of pairs of a number from 0 to 1 and a number of at least 0, entry by entry.

    No pair is kept: they are counted in a joint histogram, and numbers of one bin are ties, which
    share the mean of their ranks.  Bins are parts of octaves, of the first number x those of x and
    of 1 - x.  The second has a bin for each of its values while these are at most `ROWS`; when
    there are more, neighbouring bins are merged in pairs, and so are those of the first when more
    than `COLUMNS` lie between its least and its largest value.  Counts are whole numbers, and which
    bins are merged depends on all values together, so that neither the order of the pairs nor that
    of merging matters.

    The error of ρ on weights and norms of trained models is at most `ERROR` for a single head, and
    0.001 for all heads of a layer (docs/numbers.md says how this was measured); it is larger, by
    hundredths, for a few hundred pairs, and for numbers that are almost constant.  Memory: at most
    0.2 MB for each entry.

    Args:
        shape: Axes of one observation.
    """

    kind = "rank_correlation"

    def __init__(self, shape: Sequence[int] = ()) -> None:
        self.shape = tuple(shape)
        self._tables = [_Table() for _ in range(math.prod(self.shape))]

    @property
    def is_exact(self) -> bool:
        """Return True: counts are whole numbers."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return `shape`."""
        return {"shape": list(self.shape)}

    def update(
        self,
        first: Float[np.ndarray, "column pair"],
        second: Float[np.ndarray, " second"],
        entry: Int[np.ndarray, " entry"],
    ) -> None:
        """Count columns of pairs that share the second number, as all queries share a key's norm.

        Args:
            first: First numbers, as float32, from 0 to 1 (larger ones count as 1); NaN where there
                is no pair.
            second: Second number of each column, as float32; NaN where there is no pair.
            entry: Entry of ``shape``, by its place in C order; -1 leaves the column out.

        Raises:
            ValueError: The lengths differ, an entry does not exist or a number is negative.
        """
        if not len(first) == len(second) == len(entry):
            raise ValueError(
                f"columns, second numbers and entries are needed to fit, not {len(first)}, "
                f"{len(second)} and {len(entry)} of them"
            )
        if len(entry) and not -1 <= entry.min() <= entry.max() < len(self._tables):
            raise ValueError(f"an entry is needed from -1 to {len(self._tables) - 1}")
        first, second = first.astype(np.float32, copy=False), second.astype(np.float32)
        if any(np.fmin.reduce(numbers, axis=None, initial=0) < 0 for numbers in (first, second)):
            raise ValueError("numbers from 0 are needed, not negative ones")
        codes = _codes(first)
        used = (entry >= 0) & ~np.isnan(second) & (codes != MISSING).any(axis=1)
        # The bits of floats from 0 on are in the order of the numbers; -0.0 is made 0.0.
        keys = np.abs(second).view(np.int32).astype(np.int64)
        columns = np.flatnonzero(used)
        columns = columns[np.lexsort((keys[columns], entry[columns]))]
        entries, begins = np.unique(entry[columns], return_index=True)
        # Not strict: of no columns, np.split still makes one part.
        for place, chosen in zip(entries, np.split(columns, begins[1:]), strict=False):
            self._tables[place].count(codes[chosen], keys[chosen])

    def pooled(self, axis: int | Sequence[int]) -> "RankCorrelation":
        """Pool the pairs of the entries along these axes, so that they are ranked together."""
        gone = {int(dropped_axis) % len(self.shape) for dropped_axis in np.atleast_1d(axis)}
        rest = [kept_axis for kept_axis in range(len(self.shape)) if kept_axis not in gone]
        places = np.arange(len(self._tables)).reshape(self.shape).transpose([*rest, *sorted(gone)])
        result = RankCorrelation([self.shape[kept_axis] for kept_axis in rest])
        for table, group in zip(
            result._tables, places.reshape(len(result._tables), -1), strict=True
        ):
            for place in group:
                table.absorb(self._tables[place], most=len(group) * ROWS)
        return result

    def compute(self) -> dict[str, Array]:
        """Return `count` of pairs and `correlation`, -1 to 1, each of ``shape``.

        The correlation is NaN where the first or the second numbers differ by rounding alone, as do
        norms of a first token that is the same in all texts.
        """
        values = np.array([table.spearman() for table in self._tables]).reshape(-1, 2)
        count, correlation = values.T
        return {
            "count": count.reshape(self.shape).copy(),
            "correlation": correlation.reshape(self.shape).copy(),
        }

    def _absorb(self, other: "RankCorrelation") -> None:
        for table, more in zip(self._tables, other._tables, strict=True):
            table.absorb(more)

    def arrays(self) -> dict[str, Array]:
        """Return the concatenated tables, and the number of rows and columns of each."""
        tables = self._tables
        about = [
            [table.level, table.first_level, table.start, *table.cells.shape] for table in tables
        ]
        return {
            "tables": np.array(about, dtype=np.int64).reshape(-1, 5),
            "keys": np.concatenate([_Table().keys, *(table.keys for table in tables)]),
            "cells": np.concatenate([_Table().keys, *(table.cells.ravel() for table in tables)]),
        }

    @classmethod
    def from_arrays(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> "RankCorrelation":
        """Return the accumulator that has these settings and this state."""
        accumulator = cls(**settings)
        keys, cells = 0, 0
        for table, about in zip(accumulator._tables, arrays["tables"].tolist(), strict=True):
            table.level, table.first_level, table.start, rows, columns = about
            table.keys = arrays["keys"][keys : keys + rows].copy()
            counts = arrays["cells"][cells : cells + rows * columns]
            table.cells = counts.reshape(rows, columns).copy()
            keys, cells = keys + rows, cells + rows * columns
        return accumulator


class _Table:
    """Joint histogram of one entry: a row holds the second numbers with one key.

    Keys of second numbers and codes of first ones keep the order of numbers, and are shifted right
    by ``level`` and ``first_level``.  The first column has the code ``start``.
    """

    def __init__(self) -> None:
        self.level = self.first_level = self.start = 0
        self.keys: Keys = np.zeros(0, dtype=np.int64)
        self.cells: Cells = np.zeros((0, 0), dtype=np.int64)

    def count(self, codes: Int32[np.ndarray, "column pair"], keys: Keys) -> None:
        """Count columns of first numbers by the key of their second; keys must not decrease."""
        valid = codes != MISSING
        ends = int(codes.min()), int(codes.max(where=valid, initial=0))
        begin, first_level = _fit_columns(*ends, self.first_level)
        width = (ends[1] >> first_level) - begin + 1
        # Missing pairs are counted in a bin behind the others, which is cut off below.
        bins = np.where(valid, (codes >> first_level) - begin, width)
        rows, level = _merge_keys(np.unique(keys >> self.level), self.level, ROWS)
        bins += np.searchsorted(rows, keys >> level)[:, None] * (width + 1)
        counts = np.bincount(bins.ravel(), minlength=len(rows) * (width + 1))
        table = _Table()
        table.level, table.first_level, table.start, table.keys = level, first_level, begin, rows
        table.cells = counts.reshape(len(rows), -1)[:, :width]
        self.absorb(table)

    def absorb(self, other: "_Table", most: int = ROWS) -> None:
        """Add the counts of another table, keeping at most `most` rows."""
        both = [table for table in (self, other) if len(table.keys)]
        if not both:
            return
        level = max(table.level for table in both)
        keys, level = _merge_keys(_union([t.keys >> (level - t.level) for t in both]), level, most)
        first_level = max(table.first_level for table in both)
        ends = [
            (table.start + place) >> (first_level - table.first_level)
            for table in both
            for place in (0, table.cells.shape[1] - 1)
        ]
        start, raised = _fit_columns(min(ends), max(ends), 0)
        first_level += raised
        total = np.zeros((len(keys), (max(ends) >> raised) - start + 1), dtype=np.int64)
        for table in both:
            rows = np.searchsorted(keys, table.keys >> (level - table.level))
            columns = table.start + np.arange(table.cells.shape[1])
            columns = (columns >> (first_level - table.first_level)) - start
            np.add.at(total, np.ix_(rows, columns), table.cells)
        self.level, self.first_level, self.start = level, first_level, start
        self.keys, self.cells = keys, total

    def spearman(self) -> tuple[float, float]:
        """Return the number of pairs, and ρ of their bins."""
        cells = self.cells.astype(np.float64)
        total = float(cells.sum())
        spans = (
            (len(self.keys) and self.keys[-1] - self.keys[0]) << self.level,
            max(self.cells.shape[1] - 1, 0) << self.first_level,
        )
        if min(spans) < ROUNDING:
            return total, np.nan
        ranks = []
        for counts in (cells.sum(1), cells.sum(0)):
            rank = (np.cumsum(counts) - counts / 2 - total / 2) / total
            spread = np.sqrt((rank**2 * counts).sum())
            ranks.append(rank / spread if spread > 0 else rank * np.nan)
        second, first = ranks
        return total, float(np.clip(second @ cells @ first, -1, 1))


def _codes(first: Float32[np.ndarray, "column pair"]) -> Int32[np.ndarray, "column pair"]:
    """Return whole numbers in the order of numbers from 0 to 1, as fine near 1 as near 0.

    Below 1/2 they are the bits of x, above the mirror of the bits of 1 - x; `MISSING` for NaN.
    """
    below = np.maximum(first, LEAST).view(np.int32)
    above = HALF - np.maximum(np.float32(1) - first, NEAREST).view(np.int32) + HALF
    codes = np.where(first > 0.5, above, below)
    codes[np.isnan(first)] = MISSING
    return codes


def _fit_columns(least: int, largest: int, level: int) -> tuple[int, int]:
    while (largest >> level) - (least >> level) >= COLUMNS:
        level += 1
    return least >> level, level


def _union(keys: Sequence[Keys]) -> Keys:
    union: Keys = np.unique(np.concatenate(keys))
    return union


def _merge_keys(keys: Keys, level: int, most: int) -> tuple[Keys, int]:
    while len(keys) > most:
        keys, level = np.unique(keys >> 1), level + 1
    return keys, level
