"""Counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.base import Accumulator, Array, rows_of


class Count(Accumulator):
    """Sums of whole numbers, exact up to 2^53; nothing seen is 0, which is the truth here.

    Args:
        shape: The axes of one observation.
    """

    kind = "count"
    fields = ("total",)

    def __init__(self, shape: Sequence[int] = ()) -> None:
        self.shape = tuple(shape)
        self.total = np.zeros(self.shape)

    def settings(self) -> dict[str, Any]:
        """`shape`."""
        return {"shape": list(self.shape)}

    def update(self, observations: Array) -> None:
        """Add whole numbers, `[n, *shape]`; NaN adds nothing.

        Raises:
            ValueError: if the shape is another.
        """
        self.total += np.nansum(rows_of(observations, self.shape), axis=0)

    def _absorb(self, other: "Count") -> None:
        self.total += other.total

    def compute(self) -> dict[str, Array]:
        """`total`: the sum."""
        return {"total": self.total.copy()}
