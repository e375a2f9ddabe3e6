"""Count, mean, variance, minimum and maximum, in one pass."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.base import Accumulator, Array, Entry, Rows, rows_of


class Moments(Accumulator):
    """Count, mean, variance, minimum and maximum of each entry.

    Two parts are joined by the pairwise update of Chan, Golub and LeVeque (1983), "Algorithms for
    computing the sample variance", Eq. 2.1, which keeps its digits where a sum of squares would
    lose them all: a large mean with a tiny variance.

    Args:
        shape: The axes of one observation.
        ddof: The denominator of the variance is the count minus this: 0 for the variance of what
            was seen (NumPy's default), 1 for the unbiased estimate.
    """

    kind = "moments"
    fields = ("count", "mean", "squares", "minimum", "maximum")

    def __init__(self, shape: Sequence[int] = (), *, ddof: int = 0) -> None:
        self.shape = tuple(shape)
        self.ddof = ddof
        self.count = np.zeros(self.shape)
        self.mean = np.zeros(self.shape)
        self.squares = np.zeros(self.shape)  # of the deviations from the mean
        self.minimum = np.full(self.shape, np.inf)
        self.maximum = np.full(self.shape, -np.inf)

    def settings(self) -> dict[str, Any]:
        """`shape` and `ddof`."""
        return {"shape": list(self.shape), "ddof": self.ddof}

    def update(self, observations: Array) -> None:
        """See observations, `[n, *shape]`, NaN where one is missing.

        Raises:
            ValueError: if the shape is another.
        """
        rows = rows_of(observations, self.shape)
        if len(rows):
            lowest, highest = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
            self.absorb(*_deviations(rows), lowest, highest)

    def absorb(
        self, count: Entry, mean: Entry, squares: Entry, minimum: Entry, maximum: Entry
    ) -> None:
        """Take in what was summarised elsewhere, for example on a GPU.

        Args:
            count: How many observations each entry had: a number, or an array of `shape`.
            mean: Their mean; any finite number where `count` is 0.
            squares: The sum of their squared deviations from that mean; 0 where `count` is 0.
            minimum: The smallest; NaN or infinity where `count` is 0.
            maximum: The largest; NaN or minus infinity where `count` is 0.
        """
        both = self.count + count
        share = count / np.maximum(both, 1.0)
        delta = mean - self.mean
        self.mean += delta * share
        # In this order, so that an infinite square of `delta` cannot meet a weight of 0.
        self.squares += squares + delta * (self.count * share) * delta
        self.count += count
        np.fmin(self.minimum, minimum, out=self.minimum)
        np.fmax(self.maximum, maximum, out=self.maximum)

    def _absorb(self, other: "Moments") -> None:
        self.absorb(other.count, other.mean, other.squares, other.minimum, other.maximum)

    def compute(self) -> dict[str, Array]:
        """`count`, `mean`, `variance` and its root `std` (see `ddof`), `minimum`, `maximum`."""
        seen = self.count > 0
        freedom = self.count - self.ddof
        variance = self.squares / np.where(seen & (freedom > 0), freedom, np.nan)
        return {
            "count": self.count.copy(),
            "mean": np.where(seen, self.mean, np.nan),
            "variance": np.asarray(variance),
            "std": np.asarray(np.sqrt(variance)),
            "minimum": np.where(seen, self.minimum, np.nan),
            "maximum": np.where(seen, self.maximum, np.nan),
        }


def _deviations(rows: Rows) -> tuple[Entry, Entry, Entry]:
    """Count, mean, and sum of squared deviations over the rows, without the missing ones."""
    total = np.add.reduce(rows, axis=0)
    if not math.isnan(np.add.reduce(total, axis=None)):  # no NaN anywhere: the usual, quick case
        mean = total / len(rows)
        deviation = rows - mean
        return len(rows), mean, np.add.reduce(deviation * deviation, axis=0)
    seen = ~np.isnan(rows)
    count = np.add.reduce(seen, axis=0, dtype=np.float64)
    mean = np.add.reduce(np.where(seen, rows, 0.0), axis=0) / np.maximum(count, 1.0)
    deviation = np.where(seen, rows - mean, 0.0)
    return count, mean, np.add.reduce(deviation * deviation, axis=0)
