"""Rank correlation over any number of pairs, in one pass, in fixed memory, with a bound."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headlight.reduce.base import Accumulator, Array, rows_of
from headlight.reduce.rank.bound import spearman
from headlight.reduce.rank.float_bins import FloatBins
from headlight.reduce.rank.table import RankTable, Resolution

RESOLUTIONS: Mapping[str, Resolution] = {
    "fine": Resolution(
        first=FloatBins(
            (
                (0, -3),
                (2**-47, 0),
                (2**-24, 1),
                (2**-14, 4),
                (1 - 2**-5, 9),
                (1 - 2**-10, 14),
                (1, -3),
            ),
            place_bits=7,
        ),
        second=FloatBins(((0, -3), (2**-31, 3), (2**-12, 9), (2**13, -3)), place_bits=4),
        rows=128,
    ),
    "coarse": Resolution(
        first=FloatBins(
            (
                (0, -3),
                (2**-47, -1),
                (2**-23, 0),
                (2**-12, 2),
                (2**-3, 4),
                (1 - 2**-5, 8),
                (1 - 2**-10, 13),
                (1, -3),
            ),
            place_bits=5,
        ),
        second=FloatBins(((0, -3), (2**-31, 3), (2**-12, 9), (2**13, -3)), place_bits=2),
        rows=16,
    ),
}
"""How finely ranks can be told apart.  Both are finest where attention weights (the first variable)
and norms (the second) lie, weights near 1 too, and hold any other number from 0 to infinity."""


@dataclass(frozen=True)
class PooledRanks:
    """The tables of pairs that are ranked together, for each entry of ``shape`` in C order."""

    shape: tuple[int, ...]
    tables: Sequence[Sequence[RankTable]]

    def compute(self) -> dict[str, Array]:
        """`count`, `correlation` and `error_bound`, each of ``shape``; see `RankCorrelation`."""
        found = np.array([spearman(each) for each in self.tables], dtype=np.float64)
        names = ("count", "correlation", "error_bound")
        columns = found.reshape(-1, len(names)).T.copy()
        return {
            name: column.reshape(self.shape) for name, column in zip(names, columns, strict=True)
        }


class RankCorrelation(Accumulator):
    """Spearman's ρ, ties by mid-ranks, of pairs of numbers >= 0, entry by entry.

    No pair is kept, and no second pass is needed: the pairs of an entry are counted in cells, with
    the sums of their places in them, and every number is counted by itself, so that ranks are known
    far better than the cells tell.  How much the sums cannot tell is computed as well, and is a
    proven bound.  All state is whole numbers, and does not depend on the order of the pairs.

    Memory does not grow with the number of pairs: at most 2.5 MB an entry if ``fine``, and 0.2 MB
    if ``coarse``; entries that have seen nothing take none.

    Args:
        shape: The axes of one observation.
        resolution: One of `RESOLUTIONS`.
    """

    kind = "rank_correlation"

    def __init__(self, shape: Sequence[int] = (), *, resolution: str = "fine") -> None:
        self.shape = tuple(shape)
        self.resolution = resolution
        self._tables = [RankTable(RESOLUTIONS[resolution]) for _ in range(math.prod(self.shape))]

    @property
    def is_exact(self) -> bool:
        """Yes: all state is whole numbers."""
        return True

    def settings(self) -> dict[str, Any]:
        """`shape` and `resolution`."""
        return {"shape": list(self.shape), "resolution": self.resolution}

    def update(self, first: Array, second: Array) -> None:
        """See pairs of observations, `[n, *shape]` each, rounded to float32; one NaN is missing.

        Raises:
            ValueError: if a shape is another, the two differ in length, or a number is negative.
        """
        one, two = rows_of(first, self.shape), rows_of(second, self.shape)
        if len(one) != len(two):
            raise ValueError(f"pairs are needed, not {len(one)} and {len(two)} observations")
        entries = np.broadcast_to(np.arange(len(self._tables)).reshape(self.shape), one.shape)
        self.update_columns(one.reshape(-1, 1), two.ravel(), entries.ravel())

    def update_columns(
        self,
        first: Float[np.ndarray, "column pair"],
        second: Float[np.ndarray, " second"],
        entry: Int[np.ndarray, " entry"],
    ) -> None:
        """See columns of pairs that share the second number, as all queries share a key's norm.

        Args:
            first: The first numbers, rounded to float32; NaN where there is no pair.  Rows that
                lie in memory one after another are quickest.
            second: The second number of each column; NaN where there is no pair.
            entry: Which entry of ``shape``, by its place in C order; -1 leaves the column out.

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
        if not len(entry) or not first.shape[1]:
            return
        first, second = first.astype(np.float32, copy=False), second.astype(np.float32)
        least = first.min()
        missing = bool(np.isnan(least))
        if missing:
            least = np.fmin.reduce(first, axis=None)
        if np.fmin.reduce(second) < 0 or least < 0:
            raise ValueError("numbers from 0 are needed, not negative ones")
        second += np.float32(0)  # turns -0.0 into 0.0
        chosen = np.where(np.isnan(second), -1, entry).astype(np.int64)
        if missing:
            chosen[np.isnan(first).all(axis=1)] = -1
        codes = RESOLUTIONS[self.resolution].second.codes(second)
        order = np.argsort((chosen << 32) + codes)
        starts = np.searchsorted(chosen[order], np.arange(len(self._tables) + 1))
        for place in np.flatnonzero(np.diff(starts)):
            columns = order[starts[place] : starts[place + 1]]
            self._tables[place].see(first, columns, second[columns], codes[columns])

    def pooled(self, axis: int | Sequence[int] | None = None) -> "PooledRanks":
        """The same pairs, with the entries along these axes thrown together; None is all axes.

        Pairs are then ranked among all those of an entry.  To be looked at only: ``compute`` it.
        """
        axes = range(len(self.shape)) if axis is None else np.atleast_1d(axis)
        gone = {int(each) % len(self.shape) for each in axes}
        kept = [each for each in range(len(self.shape)) if each not in gone]
        places = np.arange(len(self._tables)).reshape(self.shape).transpose([*kept, *sorted(gone)])
        shape = tuple(self.shape[each] for each in kept)
        groups = places.reshape(math.prod(shape), -1)
        return PooledRanks(shape, [[self._tables[each] for each in group] for group in groups])

    def compute(self) -> dict[str, Array]:
        """`count` of pairs, `correlation`, -1 to 1, and `error_bound`, each of ``shape``.

        The exact correlation of all pairs, as float32, is nowhere farther than the bound from
        what is given.  Both are NaN where there are fewer than two pairs or a variable is constant.
        """
        return PooledRanks(self.shape, [[table] for table in self._tables]).compute()

    @property
    def nbytes(self) -> int:
        """What the state takes, in bytes."""
        return sum(array.nbytes for table in self._tables for array in table.arrays().values())

    def _absorb(self, other: "RankCorrelation") -> None:
        for table, more in zip(self._tables, other._tables, strict=True):
            table.absorb(more)

    def arrays(self) -> dict[str, Array]:
        """The tables one after another, and how long each of them is."""
        states = [table.arrays() for table in self._tables]
        empty = RankTable(RESOLUTIONS[self.resolution]).arrays()
        joined = {
            name: np.concatenate([nothing, *(state[name] for state in states)])
            for name, nothing in empty.items()
        }
        lengths = [[len(state[name]) for name in empty] for state in states]
        return {
            "level": np.array([table.level for table in self._tables], dtype=np.int64),
            "length": np.array(lengths, dtype=np.int64).reshape(-1, len(empty)),
            **joined,
        }

    @classmethod
    def from_arrays(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> "RankCorrelation":
        """The accumulator that has these settings and this state."""
        made = cls(**settings)
        starts = np.zeros(len(RankTable.fields), dtype=np.int64)
        for table, level, lengths in zip(
            made._tables, arrays["level"], arrays["length"], strict=True
        ):
            parts = {
                name: arrays[name][start : start + length].copy()
                for name, start, length in zip(RankTable.fields, starts, lengths, strict=True)
            }
            table.restore(int(level), parts)
            starts = starts + lengths
        return made

    def copy(self) -> "RankCorrelation":
        """A new accumulator that has seen the same and shares no memory."""
        made: RankCorrelation = self.empty()
        for table, twin in zip(self._tables, made._tables, strict=True):
            arrays = {name: array.copy() for name, array in table.arrays().items()}
            twin.restore(table.level, arrays)
        return made
