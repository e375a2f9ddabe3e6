"""Counts between fixed edges."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, rows_of


class Histogram(Accumulator):
    """Counts of the observations of each entry between fixed edges.

    As in `numpy.histogram`, a bin holds its lower edge, and the last bin its upper edge too.
    Observations outside are counted as well, below and above.

    Args:
        edges: Edges of the bins, increasing and finite, at least two.
        shape: Axes of one observation.

    Raises:
        ValueError: The edges are not increasing and finite.
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
        """Return True: counts are whole numbers."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return `edges` and `shape`."""
        return {"edges": self.edges.tolist(), "shape": list(self.shape)}

    def update(self, observations: Array) -> None:
        """Add observations, `[n, *shape]`, NaN where one is missing.

        Raises:
            ValueError: The observations have another shape.
        """
        rows = rows_of(observations, self.shape)
        slots = self.counts.shape[-1]
        slot = np.searchsorted(self.edges, rows, side="right")
        slot[rows == self.edges[-1]] = slots - 2
        # Each entry has a range of places to itself, so that one bincount serves all of them.
        entry = np.arange(math.prod(self.shape)).reshape(self.shape) * slots
        place = (slot + entry)[~np.isnan(rows)]
        self.counts += np.bincount(place, minlength=self.counts.size).reshape(self.counts.shape)

    def _absorb(self, other: "Histogram") -> None:
        self.counts += other.counts

    def compute(self) -> dict[str, Array]:
        """Return `counts` and `share` of all, `[*shape, bins]`, and counts `below` and `above`."""
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
