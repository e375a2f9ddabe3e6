"""Pearson's correlation, in one pass."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.reduce.accumulator import Accumulator, Array, Entry, Rows, rows_of


class Pearson(Accumulator):
    """Pearson's correlation of two variables, entry by entry.

    Comoments are joined pairwise as in `Moments`; for products see Bennett et al. (2009),
    "Numerically stable, single-pass, parallel statistics algorithms", Eq. 3.12.

    Args:
        shape: Axes of one observation of either variable.
    """

    kind = "pearson"
    fields = ("count", "first_mean", "second_mean", "first_squares", "second_squares", "products")

    def __init__(self, shape: Sequence[int] = ()) -> None:
        self.shape = tuple(shape)
        self.count = np.zeros(self.shape)
        self.first_mean = np.zeros(self.shape)
        self.second_mean = np.zeros(self.shape)
        self.first_squares = np.zeros(self.shape)
        self.second_squares = np.zeros(self.shape)
        self.products = np.zeros(self.shape)  # of the deviations from the two means

    def settings(self) -> dict[str, Any]:
        """Return `shape`."""
        return {"shape": list(self.shape)}

    def update(self, first: Array, second: Array) -> None:
        """Add pairs of observations, `[n, *shape]` each; a pair with a NaN is missing.

        Raises:
            ValueError: A shape is another, or the two differ in length.
        """
        first, second = rows_of(first, self.shape), rows_of(second, self.shape)
        if len(first) != len(second):
            raise ValueError(f"pairs are needed, not {len(first)} and {len(second)} observations")
        if not len(first):
            return
        # Infinities have been refused, so that a sum is NaN only where one of the two is missing.
        observed = ~np.isnan(first + second)
        count = np.add.reduce(observed, axis=0, dtype=np.float64)
        first_mean, first = _centre(first, observed, count)
        second_mean, second = _centre(second, observed, count)
        squares = np.add.reduce(first * first, axis=0), np.add.reduce(second * second, axis=0)
        products = np.add.reduce(first * second, axis=0)
        self.absorb(count, first_mean, second_mean, *squares, products)

    def absorb(
        self,
        count: Entry,
        first_mean: Entry,
        second_mean: Entry,
        first_squares: Entry,
        second_squares: Entry,
        products: Entry,
    ) -> None:
        """Add statistics that were computed elsewhere, for example on a GPU.

        Args:
            count: Number of pairs of each entry: a number, or an array of `shape`.
            first_mean: Mean of the first variable; any finite number where `count` is 0.
            second_mean: Mean of the second variable.
            first_squares: Sum of squared deviations of the first variable from its mean.
            second_squares: Sum of squared deviations of the second variable from its mean.
            products: Sum of the products of both deviations.
        """
        both = self.count + count
        share = count / np.maximum(both, 1.0)
        first_delta = first_mean - self.first_mean
        second_delta = second_mean - self.second_mean
        weight = self.count * share
        self.first_mean += first_delta * share
        self.second_mean += second_delta * share
        self.first_squares += first_squares + first_delta * weight * first_delta
        self.second_squares += second_squares + second_delta * weight * second_delta
        self.products += products + first_delta * weight * second_delta
        self.count += count

    def _absorb(self, other: "Pearson") -> None:
        self.absorb(*(getattr(other, field) for field in self.fields))

    def compute(self) -> dict[str, Array]:
        """Return `count` of pairs, and `correlation`, -1 to 1.

        The correlation is NaN where there are fewer than two pairs or a variable is constant, up
        to the rounding of its mean.
        """
        first = _spread(self.first_squares, self.first_mean, self.count)
        second = _spread(self.second_squares, self.second_mean, self.count)
        # Roots before the product: it neither overflows nor vanishes.
        correlation = self.products / first / second
        return {"count": self.count.copy(), "correlation": np.asarray(np.clip(correlation, -1, 1))}


def _centre(rows: Rows, observed: Array, count: Entry) -> tuple[Entry, Rows]:
    mean = np.add.reduce(np.where(observed, rows, 0.0), axis=0) / np.maximum(count, 1.0)
    return mean, np.where(observed, rows - mean, 0.0)


def _spread(squares: Array, mean: Array, count: Array) -> Any:
    # A constant leaves squares of rounding errors, which would correlate with anything.
    root = np.sqrt(squares)
    rounding = 4 * np.finfo(np.float64).eps * np.abs(mean) * np.sqrt(count)
    return np.where((count > 1) & (root > rounding), root, np.nan)
