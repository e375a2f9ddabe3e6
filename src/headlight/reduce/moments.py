"""Counts, means, variances, extremes, medians and ratios of means, in one pass."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, Entry, Rows, rows_of
from headlight.reduce.pearson import Pearson


class Ratio(Pearson):
    """Mean of one variable divided by that of another, with its standard error.

    Source: Cochran (1977), "Sampling Techniques", Eq. 2.46, for a large population: the error comes
    from the deviations of the first variable from the ratio times the second.

    Args:
        shape: Axes of one observation of either variable.
    """

    kind = "ratio"

    def compute(self) -> dict[str, Array]:
        """Return `ratio`, its standard `error` (NaN below two pairs), and `count` of pairs."""
        whole = np.where((self.count > 0) & (self.second_mean != 0), self.second_mean, np.nan)
        ratio = self.first_mean / whole
        residual = self.first_squares - 2 * ratio * self.products + ratio**2 * self.second_squares
        pairs = self.count * np.where(self.count > 1, self.count - 1, np.nan)
        error = np.sqrt(np.maximum(residual, 0) / pairs) / np.abs(whole)
        return {"ratio": np.asarray(ratio), "error": np.asarray(error), "count": self.count.copy()}


class Moments(Accumulator):
    """Count, mean, variance, minimum and maximum of each entry.

    Two parts are joined by the pairwise update of Chan, Golub and LeVeque (1983), "Algorithms for
    computing the sample variance", Eq. 2.1, which keeps its digits where a sum of squares would
    lose them all: a large mean with a tiny variance.

    Args:
        shape: Axes of one observation.
        ddof: Difference between the count and the denominator of the variance: 0 for the variance
            of the observations (NumPy's default), 1 for the unbiased estimate.
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
        """Return `shape` and `ddof`."""
        return {"shape": list(self.shape), "ddof": self.ddof}

    def update(self, observations: Array) -> None:
        """Add observations, `[n, *shape]`, NaN where one is missing.

        Raises:
            ValueError: The observations have another shape.
        """
        rows = rows_of(observations, self.shape)
        if len(rows):
            lowest, highest = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
            self.absorb(*_deviations(rows), lowest, highest)

    def absorb(
        self, count: Entry, mean: Entry, squares: Entry, minimum: Entry, maximum: Entry
    ) -> None:
        """Add statistics that were computed elsewhere, for example on a GPU.

        Args:
            count: Number of observations of each entry: a number, or an array of `shape`.
            mean: Mean of the observations; any finite number where `count` is 0.
            squares: Sum of squared deviations from that mean; 0 where `count` is 0.
            minimum: Smallest observation; NaN or infinity where `count` is 0.
            maximum: Largest observation; NaN or minus infinity where `count` is 0.
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
        """Return `count`, `mean`, `variance`, its root `std` (see `ddof`), `minimum`, `maximum`."""
        observed = self.count > 0
        freedom = self.count - self.ddof
        variance = self.squares / np.where(observed & (freedom > 0), freedom, np.nan)
        return {
            "count": self.count.copy(),
            "mean": np.where(observed, self.mean, np.nan),
            "variance": np.asarray(variance),
            "std": np.asarray(np.sqrt(variance)),
            "minimum": np.where(observed, self.minimum, np.nan),
            "maximum": np.where(observed, self.maximum, np.nan),
        }


def _deviations(rows: Rows) -> tuple[Entry, Entry, Entry]:
    """Return count, mean, and sum of squared deviations over the rows, without missing ones."""
    total = np.add.reduce(rows, axis=0)
    if not math.isnan(np.add.reduce(total, axis=None)):  # no NaN anywhere: the usual, quick case
        mean = total / len(rows)
        deviation = rows - mean
        return len(rows), mean, np.add.reduce(deviation * deviation, axis=0)
    observed = ~np.isnan(rows)
    count = np.add.reduce(observed, axis=0, dtype=np.float64)
    mean = np.add.reduce(np.where(observed, rows, 0.0), axis=0) / np.maximum(count, 1.0)
    deviation = np.where(observed, rows - mean, 0.0)
    return count, mean, np.add.reduce(deviation * deviation, axis=0)


class Count(Accumulator):
    """Sums of whole numbers, exact up to 2^53; the sum of no observations is 0.

    Args:
        shape: Axes of one observation.
    """

    kind = "count"
    fields = ("total",)

    def __init__(self, shape: Sequence[int] = ()) -> None:
        self.shape = tuple(shape)
        self.total = np.zeros(self.shape)

    def settings(self) -> dict[str, Any]:
        """Return `shape`."""
        return {"shape": list(self.shape)}

    def update(self, observations: Array) -> None:
        """Add whole numbers, `[n, *shape]`; NaN adds nothing.

        Raises:
            ValueError: The observations have another shape.
        """
        self.total += np.nansum(rows_of(observations, self.shape), axis=0)

    def _absorb(self, other: "Count") -> None:
        self.total += other.total

    def compute(self) -> dict[str, Array]:
        """Return `total`, the sum."""
        return {"total": self.total.copy()}


def medians(rows: Array) -> Array:
    """Return the median along the last axis, without NaN: for an even count, the middle two's mean.

    The steps are those of `torch.nanquantile`, which takes many times as long.
    """
    ordered = np.sort(rows, -1)  # NaN is last
    count = (~np.isnan(rows)).sum(-1, keepdims=True)
    lower, upper = (
        np.take_along_axis(ordered, np.maximum(place, 0), -1)[..., 0]
        for place in ((count - 1) // 2, count // 2)
    )
    middle: Array = upper - (upper - lower) / 2
    return middle
