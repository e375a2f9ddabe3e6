"""Sums in slots of contiguous blocks, grouped sums, and histograms."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.reduce.base import Accumulator, Array, Count, Moments, Pearson, rows_of
from headlight.result.slot_coordinates import added

SLOTS = 32
"""Blocks of a corpus: their number less one bounds the degrees of freedom of its intervals."""


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
        shape: The axes of one observation of the numerator.
        whole_shape: Those of the denominator, with size 1 where it is the same for all; by default
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
        """Return the sums of observations that are at hand; see `update`."""
        rows = np.ones(np.shape(parts)) if wholes is None else wholes
        slots = cls(np.shape(parts)[1:], np.shape(rows)[1:])
        slots.update(units, parts, rows)
        return slots

    @property
    def level(self) -> int:
        """The binary logarithm of the units in a slot."""
        return max((int(self.ends[0]) - 1) // SLOTS, 0).bit_length()

    def settings(self) -> dict[str, Any]:
        """`shape` and `whole_shape`."""
        return {"shape": list(self.shape), "whole_shape": list(self.whole_shape)}

    def update(self, units: Array, parts: Array, wholes: Array) -> None:
        """See observations along the first axis; a pair with a NaN is missing, its unit is not.

        Args:
            units: ``[n]`` numbers of units, from 0, in any order; several may be of one unit.
            parts: ``[n, *shape]``.
            wholes: ``[n, *whole_shape]``.

        Raises:
            ValueError: if a shape is another, there is not one unit to each observation, or a part
                is missing of a whole that others share.
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
        """`part` and `whole`, the sums of each slot, and what `of_sums` makes of them."""
        size = 1 << self.level
        units = np.clip(self.ends[0] - size * np.arange(SLOTS), 0, size)
        return {"part": self.parts.copy(), **of_sums(self.parts, self.wholes.copy(), units)}


def of_sums(parts: Array, wholes: Array, units: Array) -> dict[str, Array]:
    """Return a ratio of sums with what it is without each slot.

    Args:
        parts: ``[slot, *cell]``, the numerators.
        wholes: the denominators; of size 1 where they are the same for all.
        units: ``[slot]``, of each slot, with those of which nothing was observed.

    Returns:
        `mean`, of the cells; `without` each slot, ``[slot, *cell]``; `whole`; and `units`.  What
        has no whole is NaN.
    """
    # Of one number numpy would make a number, and no array.
    part, whole = np.asarray(parts.sum(0)), np.asarray(wholes.sum(0))
    return {
        "mean": _ratio(part, whole),
        "without": _ratio(part - parts, whole - wholes),
        "whole": wholes,
        "units": units,
    }


def _ratio(part: Array, whole: Array) -> Array:
    return np.asarray(part / np.where(whole != 0, whole, np.nan))


class Histogram(Accumulator):
    """Counts of the observations of each entry between edges that are known beforehand.

    As in `numpy.histogram`, a bin holds its lower edge, and the last one its upper edge too. What
    lies outside is counted as well, below and above.

    Args:
        edges: The edges of the bins, increasing and finite, at least two.
        shape: The axes of one observation.

    Raises:
        ValueError: if the edges are not increasing and finite.
    """

    kind = "histogram"
    fields = ("counts",)

    def __init__(self, edges: Sequence[float], shape: Sequence[int] = ()) -> None:
        self.edges = np.array(edges, dtype=np.float64)
        if len(self.edges) < 2 or not np.isfinite(self.edges).all() or _falls(self.edges):
            raise ValueError(f"edges must be finite and increasing, at least two, not {edges}")
        self.shape = tuple(shape)
        self.counts = np.zeros((*self.shape, len(self.edges) + 1))  # below, bins, above

    @property
    def is_exact(self) -> bool:
        """Yes: counts are whole numbers."""
        return True

    def settings(self) -> dict[str, Any]:
        """`edges` and `shape`."""
        return {"edges": self.edges.tolist(), "shape": list(self.shape)}

    def update(self, observations: Array) -> None:
        """See observations, `[n, *shape]`, NaN where one is missing.

        Raises:
            ValueError: if the shape is another.
        """
        rows = rows_of(observations, self.shape)
        slots = self.counts.shape[-1]
        slot = np.searchsorted(self.edges, rows, side="right")
        slot[rows == self.edges[-1]] = slots - 2
        entry = np.arange(math.prod(self.shape)).reshape(self.shape) * slots
        place = (slot + entry)[~np.isnan(rows)]
        self.counts += np.bincount(place, minlength=self.counts.size).reshape(self.counts.shape)

    def _absorb(self, other: "Histogram") -> None:
        self.counts += other.counts

    def compute(self) -> dict[str, Array]:
        """`counts` and `share` of all observations, `[*shape, bins]`, and `below` and `above`."""
        inside = self.counts[..., 1:-1]
        total = self.counts.sum(axis=-1, keepdims=True)
        return {
            "counts": inside.copy(),
            "share": inside / np.where(total > 0, total, np.nan),
            "below": self.counts[..., 0].copy(),
            "above": self.counts[..., -1].copy(),
        }


def _falls(edges: Array) -> bool:
    return bool((np.diff(edges) <= 0).any())


PLAIN: Mapping[str, type[Accumulator]] = {
    accumulator.kind: accumulator for accumulator in (Count, Moments, Histogram, Pearson)
}
"""The accumulators that can be grouped, by the name that files know them by."""


class Grouped(Accumulator):
    """One accumulator for each whole-number key; keys need not be known beforehand.

    Args:
        of: The accumulator that each group begins with, empty; or its `description`.
    """

    kind = "grouped"

    def __init__(self, of: Accumulator | Mapping[str, Any]) -> None:
        self.of = of.empty() if isinstance(of, Accumulator) else _described(of)
        self.groups: dict[int, Accumulator] = {}

    @property
    def is_exact(self) -> bool:
        """As the accumulators of the groups are."""
        return bool(self.of.is_exact)

    def settings(self) -> dict[str, Any]:
        """`of`: kind and settings of the accumulator of a group."""
        return {"of": {"kind": self.of.kind, "settings": self.of.settings()}}

    def update(self, keys: Array, *observations: Array) -> None:
        """See observations, `[n, ...]`, and for each of them the key of its group.

        Args:
            keys: `[n]` whole numbers.
            observations: What the accumulator of a group takes, along the same first axis.

        Raises:
            ValueError: if there is not one key to each observation.
        """
        if any(len(rows) != len(keys) for rows in observations):
            raise ValueError(f"{len(keys)} keys do not fit as many observations as were given")
        for key in np.unique(keys):
            chosen = keys == key
            self.at(int(key)).update(*(rows[chosen] for rows in observations))

    def at(self, key: int) -> Any:
        """The accumulator of one group, made when first asked for; updating it updates this."""
        if key not in self.groups:
            self.groups[key] = self.of.empty()
        return self.groups[key]

    def _absorb(self, other: "Grouped") -> None:
        for key, group in other.groups.items():
            self.at(key)._absorb(group)

    def compute(self) -> dict[str, Array]:
        """`key`, the groups in increasing order, and their statistics along a new first axis."""
        keys = sorted(self.groups)
        statistics = [self.groups[key].compute() for key in keys]
        stacked = {
            name: np.array([each[name] for each in statistics]).reshape(-1, *nothing.shape)
            for name, nothing in self.of.compute().items()
        }
        return {"key": np.array(keys, dtype=np.int64), **stacked}

    def arrays(self) -> dict[str, Array]:
        """`key` in increasing order, and the state of the groups along a new first axis."""
        keys = sorted(self.groups)
        states = [self.groups[key].arrays() for key in keys]
        stacked = {
            field: np.array([state[field] for state in states]).reshape(-1, *nothing.shape)
            for field, nothing in self.of.arrays().items()
        }
        return {"key": np.array(keys, dtype=np.int64), **stacked}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> "Grouped":
        """The accumulator that has these settings and this state."""
        grouped = cls(**settings)
        for row, key in enumerate(arrays["key"].tolist()):
            state = {field: np.asarray(arrays[field][row]) for field in grouped.of.fields}
            grouped.groups[key] = grouped.of.from_arrays(grouped.of.settings(), state)
        return grouped


def _described(description: Mapping[str, Any]) -> Any:
    return PLAIN[description["kind"]](**description["settings"])
