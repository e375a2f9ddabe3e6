"""Accumulators and the laws that they keep: counts, moments, Pearson correlations."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Shaped

from headlight.errors import CaptureError, setting

Array = Shaped[np.ndarray, "..."]
"""An array of any shape."""

Entry = Array | np.floating | np.integer | float | int
"""One number for each entry of an accumulator; a plain number where it has no axes."""

Rows = Float64[np.ndarray, "observation ..."]
"""Observations along the first axis; NaN where one is missing."""


class Accumulator(ABC):
    """A summary of observations that can be made in parts and merged: a commutative monoid.

    The laws, which the tests hold every accumulator to, exact or up to rounding:

    - `merge` is associative and commutative, and changes neither operand;
    - `empty()` is neutral;
    - however observations are split and merged, `compute()` is that of one pass over all of them;
    - `from_arrays(settings(), arrays())` is the same accumulator, bit for bit.

    State is float64. `update` and `absorb` change an accumulator in place; nothing else does. A
    statistic of no observations is NaN, never 0. NaN among the observations means "missing", and is
    left out entry by entry.
    """

    kind: ClassVar[str]
    """The name in files."""

    fields: ClassVar[tuple[str, ...]]
    """The attributes that hold the state, each an array."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor of an empty twin; values that JSON can hold."""

    @abstractmethod
    def update(self, *observations: Any, **options: Any) -> None:
        """See more observations."""

    @abstractmethod
    def _absorb(self, other: Any) -> None:
        """Take in what another accumulator of the same settings has seen."""

    @abstractmethod
    def compute(self) -> dict[str, Array]:
        """The statistics, by name; computing changes nothing."""

    @property
    def is_exact(self) -> bool:
        """Whether merging rounds nothing, so that its order does not matter to the last bit."""
        return False

    def empty(self) -> Any:
        """A new accumulator with the same settings that has seen nothing."""
        return type(self)(**self.settings())

    def copy(self) -> Any:
        """A new accumulator that has seen the same and shares no memory."""
        return self.from_arrays(self.settings(), self.arrays())

    def merge(self, other: Any, /) -> Any:
        """A new accumulator that has seen what both have; neither operand changes.

        Raises:
            ValueError: if `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        merged = self.copy()
        merged._absorb(other)
        return merged

    def take(self, other: Any, /) -> None:
        """See what `other` has as well, in place: `merge` without a copy; `other` does not change.

        Raises:
            ValueError: if `other` is of another kind or has other settings.
        """
        self._check_mergeable(other)
        self._absorb(other)

    def _check_mergeable(self, other: Any) -> None:
        if type(self) is not type(other) or self.settings() != other.settings():
            raise ValueError(f"cannot merge {other!r} into {self!r}: they differ in settings")

    def arrays(self) -> dict[str, Array]:
        """Copies of the whole state, by field."""
        return {field: getattr(self, field).copy() for field in self.fields}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
        """The accumulator that has these settings and this state."""
        accumulator = cls(**settings)
        for field in cls.fields:
            setattr(accumulator, field, np.array(arrays[field], dtype=np.float64))
        return accumulator

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({inside})"


def rows_of(observations: Array, shape: Sequence[int]) -> Rows:
    """Observations as float64, one per row.

    Raises:
        CaptureError: if one is infinite, and so has no mean.
        ValueError: if a row does not have the shape that the accumulator was made for.
    """
    rows = np.asarray(observations, dtype=np.float64)
    if rows.shape[1:] != tuple(shape) or rows.ndim == 0:
        expected = ("n", *shape)
        raise ValueError(f"observations of shape {expected} are needed, not {rows.shape}")
    if np.isinf(rows).any():
        raise CaptureError(
            "what was measured is infinite, and so has no mean; look at the weights of the model, "
            f"or load it in a wider precision ({setting('dtype=')})."
        )
    return rows


class Pearson(Accumulator):
    """Pearson's correlation of two variables, entry by entry.

    Comoments are joined pairwise as in `Moments`; for products see Bennett et al. (2009),
    "Numerically stable, single-pass, parallel statistics algorithms", Eq. 3.12.

    Args:
        shape: The axes of one observation of either variable.
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
        """`shape`."""
        return {"shape": list(self.shape)}

    def update(self, first: Array, second: Array) -> None:
        """See pairs of observations, `[n, *shape]` each; a pair with a NaN is missing.

        Raises:
            ValueError: if a shape is another, or the two differ in length.
        """
        one, two = rows_of(first, self.shape), rows_of(second, self.shape)
        if len(one) != len(two):
            raise ValueError(f"pairs are needed, not {len(one)} and {len(two)} observations")
        if not len(one):
            return
        observed = ~np.isnan(one + two)
        count = np.add.reduce(observed, axis=0, dtype=np.float64)
        one_mean, one = _centred(one, observed, count)
        two_mean, two = _centred(two, observed, count)
        squares = np.add.reduce(one * one, axis=0), np.add.reduce(two * two, axis=0)
        self.absorb(count, one_mean, two_mean, *squares, np.add.reduce(one * two, axis=0))

    def absorb(
        self,
        count: Entry,
        first_mean: Entry,
        second_mean: Entry,
        first_squares: Entry,
        second_squares: Entry,
        products: Entry,
    ) -> None:
        """Take in what was summarised elsewhere, for example on a GPU.

        Args:
            count: How many pairs each entry had: a number, or an array of `shape`.
            first_mean: The mean of the first variable; any finite number where `count` is 0.
            second_mean: The mean of the second variable.
            first_squares: The sum of squared deviations of the first variable from its mean.
            second_squares: The same of the second variable.
            products: The sum of the products of both deviations.
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
        """`count` of pairs, and `correlation`, -1 to 1.

        The correlation is NaN where there are fewer than two pairs or a variable is constant, up
        to the rounding of its mean.
        """
        first = _spread(self.first_squares, self.first_mean, self.count)
        second = _spread(self.second_squares, self.second_mean, self.count)
        # Roots before the product: it neither overflows nor vanishes.
        correlation = self.products / first / second
        return {"count": self.count.copy(), "correlation": np.asarray(np.clip(correlation, -1, 1))}


def _centred(rows: Rows, observed: Array, count: Entry) -> tuple[Entry, Rows]:
    """The mean of what was seen, and the deviations from it, 0 where nothing was."""
    mean = np.add.reduce(np.where(observed, rows, 0.0), axis=0) / np.maximum(count, 1.0)
    return mean, np.where(observed, rows - mean, 0.0)


def _spread(squares: Array, mean: Array, count: Array) -> Any:
    """The root of the sum of squares; NaN where rounding alone explains it."""
    root = np.sqrt(squares)
    rounding = 4 * np.finfo(np.float64).eps * np.abs(mean) * np.sqrt(count)
    return np.where((count > 1) & (root > rounding), root, np.nan)


class Ratio(Pearson):
    """The mean of one variable divided by that of another, with its standard error.

    Source: Cochran (1977), "Sampling Techniques", Eq. 2.46, for a large population: the deviations
    of the first variable from the ratio times the second.

    Args:
        shape: The axes of one observation of either variable.
    """

    kind = "ratio"

    def compute(self) -> dict[str, Array]:
        """`ratio`, `error`, its standard error, NaN of fewer than two pairs, and their `count`."""
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
    """Count, mean, and sum of squared deviations over the rows, without the missing ones."""
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


def medians(rows: Array) -> Array:
    """Return the median along the last axis, without NaN: of two in the middle what is between.

    By the same steps as `torch.nanquantile`, which takes many times as long.
    """
    ordered = np.sort(rows, -1)  # NaN is last
    count = (~np.isnan(rows)).sum(-1, keepdims=True)
    lower, upper = (
        np.take_along_axis(ordered, np.maximum(place, 0), -1)[..., 0]
        for place in ((count - 1) // 2, count // 2)
    )
    middle: Array = upper - (upper - lower) / 2
    return middle
