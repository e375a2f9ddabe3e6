"""Sums for each of many keys, of which the lowest are kept, whatever comes in whatever order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, rows_of

UNIT = 2.0**-26
"""Unit of sums: what is summed is rounded to whole numbers of it, which float64 adds without an
error up to 2²⁷ (134 million) of what is counted."""


class KeyedSums(Accumulator):
    """The sum of all observations of a key, for the ``limit`` lowest keys, and that of all keys.

    A key is kept if fewer than ``limit`` keys that were seen are below it.  So each sum that is
    kept is of all observations, in whatever order they come: a key that is among the lowest of
    all is among the lowest of every part.  A missing number (NaN) adds nothing.

    Args:
        shape: Of one observation.
        limit: Keys to keep.
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
        """Yes: whole numbers are added."""
        return True

    def settings(self) -> dict[str, Any]:
        """`shape` and `limit`."""
        return {"shape": list(self.shape), "limit": self.limit}

    def update(self, keys: Array, rows: Array) -> None:
        """See observations along the first axis.

        Args:
            keys: ``[n]`` whole numbers.
            rows: ``[n, *shape]``.

        Raises:
            ValueError: if a row has another shape, or there is not one key to each.
        """
        keys, rows = rows_of(keys, ()), rows_of(rows, self.shape)
        if len(keys) != len(rows):
            raise ValueError(f"{len(keys)} keys do not fit {len(rows)} observations")
        distinct, place = np.unique(keys, return_inverse=True)
        counted = np.nan_to_num(np.rint(rows / UNIT))
        if len(distinct) < len(keys):
            sums = np.zeros((len(distinct), *self.shape))
            np.add.at(sums, place, counted)
        else:
            sums = counted[np.argsort(place)]
        self._add(distinct, sums, np.asarray(counted.sum(0)))

    def compute(self) -> dict[str, Array]:
        """`key`, rising, `sum` of each, ``[key, *shape]``, and `whole`, that of all keys."""
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
