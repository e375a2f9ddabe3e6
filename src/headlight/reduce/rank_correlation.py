"""Rank correlation over any number of pairs, in one pass and fixed memory, by a joint histogram."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int, Int64

from headlight.reduce.base import Accumulator, Array

ROWS = 64
"""Bins of the second number, at most."""
EIGHTH = 20
"""Bits of a float32 below the eight parts of an octave."""
HALF, ONE = 1008, 2016
"""The eighths at which 1/2 and 1 are, when those above 1/2 mirror those below it."""


def _bin_of_eighth() -> Int64[np.ndarray, " eighth"]:
    """Return the bin of each eighth: eighths within 12 octaves of 1/2, whole octaves beyond.

    All below 2^-61 share the first bin, 1 has its own, and missing numbers have the last.
    """
    eighth = np.arange(2048)
    away = eighth - HALF
    starts = (abs(away) <= 96) | ((eighth % 8 == 0) & (away >= -480) & (away <= 184))
    return np.cumsum(starts | (eighth == ONE) | (eighth == ONE + 1))


BIN = _bin_of_eighth()
BINS = int(BIN[-1])
"""Bins of the first number; that of missing ones is the next."""

ROUNDING = 64
"""Second numbers that differ by fewer steps of a float32 are equal."""
ERROR = 0.005
"""Of ρ, at most, for weights and norms of trained models."""

Keys = Int64[np.ndarray, " row"]
Cells = Int64[np.ndarray, "row bin"]


class RankCorrelation(Accumulator):
    """Spearman's ρ of pairs of a number of 0 to 1 and one of at least 0, entry by entry.

    No pair is kept: they are counted in a joint histogram, and numbers of one bin are ties, which
    share the mean of their ranks.  The first number has `BINS` bins, eighths of octaves of x and
    1 - x.  The second has a bin for each of its values while these are at most `ROWS`; when there
    are more, neighbouring bins are merged in pairs.  Counts are whole numbers, and which bins are
    merged depends on all values together, so that neither the order of the pairs nor that of
    merging matters.

    The error of ρ on weights and norms of trained models is at most `ERROR` for a single head, and
    0.001 for all heads of a layer (docs/numbers.md says how this was measured); it is larger, by
    hundredths, for a few hundred pairs, and for numbers that are almost constant.  Memory: at most
    0.13 MB for each entry.

    Args:
        shape: The axes of one observation.
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
            first: The first numbers, as float32, of 0 to 1 (above, they count as 1); NaN where
                there is no pair.
            second: The second number of each column, as float32; NaN where there is no pair.
            entry: The entry of ``shape``, by its place in C order; -1 leaves the column out.

        Raises:
            ValueError: if the lengths differ, an entry does not exist or a number is negative.
        """
        if not len(first) == len(second) == len(entry):
            raise ValueError(
                f"columns, second numbers and entries are needed to fit, not {len(first)}, "
                f"{len(second)} and {len(entry)} of them"
            )
        if len(entry) and not -1 <= entry.min() <= entry.max() < len(self._tables):
            raise ValueError(f"an entry is needed from -1 to {len(self._tables) - 1}")
        first, second = first.astype(np.float32, copy=False), second.astype(np.float32)
        if any(np.fmin.reduce(each, axis=None, initial=0) < 0 for each in (first, second)):
            raise ValueError("numbers from 0 are needed, not negative ones")
        codes = _first_bins(first)
        kept = (entry >= 0) & ~np.isnan(second) & (codes < BINS).any(axis=1)
        keys = np.abs(second).view(np.int32).astype(np.int64)  # -0.0 is 0.0
        columns = np.flatnonzero(kept)
        columns = columns[np.lexsort((keys[columns], entry[columns]))]
        entries, begins = np.unique(entry[columns], return_index=True)
        for place, chosen in zip(entries, np.split(columns, begins[1:]), strict=False):
            self._tables[place].count(codes[chosen], keys[chosen])

    def pooled(self, axis: int | Sequence[int]) -> "RankCorrelation":
        """Return the pairs with the entries along these axes taken together, ranked as one."""
        gone = {int(each) % len(self.shape) for each in np.atleast_1d(axis)}
        kept = [each for each in range(len(self.shape)) if each not in gone]
        places = np.arange(len(self._tables)).reshape(self.shape).transpose([*kept, *sorted(gone)])
        made = RankCorrelation([self.shape[each] for each in kept])
        for table, group in zip(made._tables, places.reshape(len(made._tables), -1), strict=True):
            for each in group:
                table.absorb(self._tables[each], most=len(group) * ROWS)
        return made

    def compute(self) -> dict[str, Array]:
        """Return `count` of pairs and `correlation`, -1 to 1, each of ``shape``.

        The correlation is NaN where all first numbers share a bin, or the second differ by rounding
        alone, as the norm of a first token does that is the same in all texts.
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
        """Return the tables one after another, and how many rows each of them has."""
        return {
            "level": np.array([table.level for table in self._tables], dtype=np.int64),
            "length": np.array([len(table.keys) for table in self._tables], dtype=np.int64),
            "keys": np.concatenate([_Table().keys, *(table.keys for table in self._tables)]),
            "cells": np.concatenate([_Table().cells, *(table.cells for table in self._tables)]),
        }

    @classmethod
    def from_arrays(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> "RankCorrelation":
        """Return the accumulator that has these settings and this state."""
        made = cls(**settings)
        ends = np.cumsum(arrays["length"])
        for table, level, length, end in zip(
            made._tables, arrays["level"], arrays["length"], ends, strict=True
        ):
            rows = slice(int(end - length), int(end))
            table.level = int(level)
            table.keys, table.cells = arrays["keys"][rows].copy(), arrays["cells"][rows].copy()
        return made


class _Table:
    """The joint histogram of one entry: a row holds the second numbers with one key.

    A key is the bits of a float32, which keep the order of numbers, shifted right by ``level``.
    """

    def __init__(self) -> None:
        self.level = 0
        self.keys: Keys = np.zeros(0, dtype=np.int64)
        self.cells: Cells = np.zeros((0, BINS), dtype=np.int64)

    def count(self, codes: Int64[np.ndarray, "column pair"], keys: Keys) -> None:
        """Count columns of first bins by their second number, whose bits do not fall."""
        rows, level = _merged(np.unique(keys >> self.level), self.level, ROWS)
        place = np.searchsorted(rows, keys >> level)[:, None] * (BINS + 1)
        cells = np.bincount((codes + place).ravel(), minlength=len(rows) * (BINS + 1))
        self._add(level, rows, cells.reshape(len(rows), -1)[:, :BINS], ROWS)

    def absorb(self, other: "_Table", most: int = ROWS) -> None:
        """Add the counts of another table."""
        self._add(other.level, other.keys, other.cells, most)

    def _add(self, level: int, keys: Keys, cells: Cells, most: int) -> None:
        both = ((self.level, self.keys, self.cells), (level, keys, cells))
        target = max(self.level, level)
        union = np.unique(np.concatenate([rows >> (target - at) for at, rows, _ in both]))
        union, target = _merged(union, target, most)
        total = np.zeros((len(union), BINS), dtype=np.int64)
        for at, rows, counts in both:
            np.add.at(total, np.searchsorted(union, rows >> (target - at)), counts)
        self.level, self.keys, self.cells = target, union, total

    def spearman(self) -> tuple[float, float]:
        """Return how many pairs were counted, and ρ of their bins."""
        cells = self.cells.astype(np.float64)
        total = float(cells.sum())
        if not total or (self.keys[-1] - self.keys[0]) << self.level < ROUNDING:
            return total, np.nan
        ranks = []
        for counts in (cells.sum(1), cells.sum(0)):
            rank = (np.cumsum(counts) - counts / 2 - total / 2) / total
            spread = np.sqrt((rank**2 * counts).sum())
            ranks.append(rank / spread if spread > 0 else rank * np.nan)
        second, first = ranks
        return total, float(np.clip(second @ cells @ first, -1, 1))


def _first_bins(first: Float32[np.ndarray, "column pair"]) -> Int64[np.ndarray, "column pair"]:
    """Return the bin of each number of 0 to 1; `BINS` for NaN."""
    numbers = np.minimum(np.abs(first), np.float32(1))
    below = numbers.view(np.int32) >> EIGHTH
    above = ONE - ((np.float32(1) - numbers).view(np.int32) >> EIGHTH)
    bins: Int64[np.ndarray, "column pair"] = BIN.take(np.where(numbers > 0.5, above, below))
    return bins


def _merged(keys: Keys, level: int, most: int) -> tuple[Keys, int]:
    """Return the rows, merged in pairs until at most ``most`` are left, and their level."""
    while len(keys) > most:
        keys, level = np.unique(keys >> 1), level + 1
    return keys, level
