"""Sums for each of many keys, of which the lowest are kept, in whatever order they come."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, rows_of

UNIT = 2.0**-26
"""Unit of sums: summands are rounded to multiples of it, which float64 adds without an error up to
a sum of 2²⁷ (134 million)."""


class KeyedSums(Accumulator):
    """Sums of all observations of each of the ``limit`` lowest keys, and of all keys.

    A key is kept if fewer than ``limit`` observed keys are below it.  So each sum that is kept is
    of all observations, in whatever order they come: a key among the lowest of all is among the
    lowest of every part.  A missing number (NaN) adds nothing.

    Args:
        shape: Shape of one observation.
        limit: Number of keys to keep.
    """

    kind = "keyed_sums"
    fields = ("keys", "sums", "whole")

    def __init__(self, shape: Sequence[int] = (), limit: int = 1000) -> None:
        self.shape = tuple(shape)
        self.limit = limit
        self.keys = np.zeros(0)
        self.sums = np.zeros((0, *self.shape))
        self.whole = np.zeros(self.shape)

    @property
    def is_exact(self) -> bool:
        """Return True: whole numbers are added."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return `shape` and `limit`."""
        return {"shape": list(self.shape), "limit": self.limit}

    def update(self, keys: Array, rows: Array) -> None:
        """Add observations along the first axis.

        Args:
            keys: Whole numbers, ``[n]``.
            rows: Observations, ``[n, *shape]``.

        Raises:
            ValueError: A row has another shape, or there is not one key for each row.
        """
        keys, rows = rows_of(keys, ()), rows_of(rows, self.shape)
        if len(keys) != len(rows):
            raise ValueError(f"{len(keys)} keys do not fit {len(rows)} observations")
        distinct, place = np.unique(keys, return_inverse=True)
        counted = np.nan_to_num(np.rint(rows / UNIT))
        if len(distinct) < len(keys):  # np.add.at is slow: only where a key repeats
            sums = np.zeros((len(distinct), *self.shape))
            np.add.at(sums, place, counted)
        else:
            sums = counted[np.argsort(place)]
        self._add(distinct, sums, np.asarray(counted.sum(0)))

    def compute(self) -> dict[str, Array]:
        """Return `key`, rising, `sum` of each, ``[key, *shape]``, and `whole`, the sum of all."""
        return {
            "key": self.keys.astype(np.int64),
            "sum": self.sums * UNIT,
            "whole": np.asarray(self.whole * UNIT),
        }

    def _absorb(self, other: "KeyedSums") -> None:
        self._add(other.keys, other.sums, other.whole)

    def _add(self, keys: Array, sums: Array, whole: Array) -> None:
        """Add sums of rising keys."""
        self.whole = np.asarray(self.whole + whole)
        joined = np.union1d(self.keys, keys)[: self.limit]
        if len(joined) > len(self.keys) or not np.array_equal(joined, self.keys):
            before = self.sums[np.isin(self.keys, joined)]
            self.sums = np.zeros((len(joined), *self.shape))
            self.sums[np.isin(joined, self.keys)] = before
            self.keys = joined
        is_known = np.isin(keys, joined)
        self.sums[np.searchsorted(joined, keys[is_known])] += sums[is_known]
