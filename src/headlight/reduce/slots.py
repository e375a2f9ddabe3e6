"""Sums over contiguous blocks of a corpus, from which intervals are computed on request."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, rows_of
from headlight.result.slot_coordinates import added

SLOTS = 32
"""Number of blocks of a corpus; one less bounds the degrees of freedom of its intervals."""


class Slots(Accumulator):
    """Sums of two variables in `SLOTS` contiguous blocks of units, such as documents or texts.

    A block is 2^level units: the unit n is in the slot ``n >> level``.  The level is the lowest at
    which the last unit has a slot; where one does not fit, neighbours are added, and blocks are
    twice as long.  So the corpus need not be counted before it is read, texts that are alike
    because they stand together are in one slot, and two runs over the same texts leave out the same
    ones.

    A level depends on the last unit alone, and merging brings both sides to the higher one before
    it adds: a function of its operands, as `headlight.reduce.Tree` needs it.

    Args:
        shape: Axes of one observation of the numerator.
        whole_shape: Axes of the denominator, with size 1 where it is the same for all; by default
            `shape`.
    """

    kind = "slots"
    fields = ("parts", "wholes", "ends")

    def __init__(self, shape: Sequence[int] = (), whole_shape: Sequence[int] | None = None) -> None:
        self.shape = tuple(shape)
        self.whole_shape = self.shape if whole_shape is None else tuple(whole_shape)
        self.parts = np.zeros((SLOTS, *self.shape))
        self.wholes = np.zeros((SLOTS, *self.whole_shape))
        self.ends = np.zeros(1)  # the unit behind the last one

    @classmethod
    def of(cls, units: Array, parts: Array, wholes: Array | None = None) -> "Slots":
        """Return the sums of given observations; see `update`."""
        rows = np.ones(np.shape(parts)) if wholes is None else wholes
        slots = cls(np.shape(parts)[1:], np.shape(rows)[1:])
        slots.update(units, parts, rows)
        return slots

    @property
    def level(self) -> int:
        """Return the binary logarithm of the number of units in a slot."""
        return max((int(self.ends[0]) - 1) // SLOTS, 0).bit_length()

    def settings(self) -> dict[str, Any]:
        """Return `shape` and `whole_shape`."""
        return {"shape": list(self.shape), "whole_shape": list(self.whole_shape)}

    def update(self, units: Array, parts: Array, wholes: Array) -> None:
        """Add observations along the first axis; a pair with a NaN is missing, its unit is not.

        Args:
            units: Numbers of units, ``[n]``, from 0, in any order; several may be of one unit.
            parts: Numerators, ``[n, *shape]``.
            wholes: Denominators, ``[n, *whole_shape]``.

        Raises:
            ValueError: A shape is another, there is not one unit for each observation, or a part is
                missing of a whole that others share.
        """
        part, whole = rows_of(parts, self.shape), rows_of(wholes, self.whole_shape)
        numbers = np.asarray(units, dtype=np.int64)
        if not len(numbers) == len(part) == len(whole):
            raise ValueError(f"{len(numbers)} units, {len(part)} parts and {len(whole)} wholes")
        missing = np.isnan(part) | np.isnan(whole)
        if self.shape != self.whole_shape and missing.any():
            raise ValueError("a part is missing, and its whole is that of others as well")
        self._coarsen(int(numbers.max(initial=-1)) + 1)
        for sums, rows in ((self.parts, part), (self.wholes, whole)):
            finite_rows = np.where(missing, 0.0, rows) if missing.any() else rows
            for slot, row in zip(numbers >> self.level, finite_rows, strict=True):
                sums[slot] += row

    def _absorb(self, other: "Slots") -> None:
        self._coarsen(int(other.ends[0]))
        times = 1 << (self.level - other.level)
        self.parts += added(other.parts, times)
        self.wholes += added(other.wholes, times)

    def _coarsen(self, end: int) -> None:
        """Make room for all units before this one."""
        level = self.level
        self.ends[0] = max(self.ends[0], end)
        times = 1 << (self.level - level)
        self.parts, self.wholes = added(self.parts, times), added(self.wholes, times)

    def compute(self) -> dict[str, Array]:
        """Return `part` and `whole`, the sums of each slot, with the results of `of_sums`."""
        size = 1 << self.level
        units = np.clip(self.ends[0] - size * np.arange(SLOTS), 0, size)
        return {"part": self.parts.copy(), **of_sums(self.parts, self.wholes.copy(), units)}


def of_sums(parts: Array, wholes: Array, units: Array) -> dict[str, Array]:
    """Return a ratio of sums with its values without each slot.

    Args:
        parts: Numerators, ``[slot, *cell]``.
        wholes: Denominators; of size 1 where they are the same for all.
        units: Number of units of each slot, ``[slot]``, unobserved ones included.

    Returns:
        The ratio as `mean`, ``[*cell]``; the ratios `without` each slot, ``[slot, *cell]``;
        `whole`; and `units`.  A ratio without a whole is NaN.
    """
    # Without axes, `sum` returns a number instead of an array.
    part, whole = np.asarray(parts.sum(0)), np.asarray(wholes.sum(0))
    return {
        "mean": _ratio(part, whole),
        "without": _ratio(part - parts, whole - wholes),
        "whole": wholes,
        "units": units,
    }


def _ratio(part: Array, whole: Array) -> Array:
    return np.asarray(part / np.where(whole != 0, whole, np.nan))
