"""Ends of intervals on the scale of a number, and what is decided by them.

Source: of shares Wilson (1927), "Probable inference, the law of succession, and statistical
inference", with the effective size of Korn and Graubard (1998).
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@overload
def decided(value: float, low: float, high: float, other: float) -> str: ...


@overload
def decided(value: Array, low: Array, high: Array, other: Array | float) -> NDArray[Any]: ...


def decided(
    value: Array | float, low: Array | float, high: Array | float, other: Array | float
) -> NDArray[Any] | str:
    """Return whether numbers are ``above`` or ``below`` others, or their intervals reach these.

    Args:
        value: a number, or an array of them.
        low: the lower ends of their intervals.
        high: the upper ends.
        other: what they are compared with.

    Returns:
        ``above``, ``below``, or ``inconclusive``, also where there is no interval, or no number.
    """
    known = np.isfinite(low) & np.isfinite(high)
    above = known & (np.minimum(value, low) > other)
    below = known & (np.maximum(value, high) < other)
    verdict: NDArray[Any] | str = np.select([above, below], ["above", "below"], "inconclusive")[()]
    return verdict


def chosen_ends(
    value: Array, low: Array, high: Array, *, candidates: int, units: int
) -> tuple[Any, Any]:
    """Return the ends of the interval of a number that was chosen among several on the same data.

    The largest of many is too large by chance.  Intervals of 95% are moved apart to the width at
    which all candidates together lie in theirs in 95% of samples (Bonferroni, by Student's t), so
    that the ends hold whichever was chosen.

    Args:
        value: the chosen number, or an array of them.
        low: the lower end of its interval of 95%.
        high: the upper end.
        candidates: among how many it was chosen, such as heads times directions.
        units: texts, sentences or documents; below 2 the ends are NaN.

    Source: Dunn (1961), "Multiple comparisons among means".
    """
    from scipy.stats import t

    freedom = units - 1 if units > 1 else np.nan
    wider = t.ppf(1 - 0.025 / max(candidates, 1), freedom) / t.ppf(0.975, freedom)
    return value - wider * (value - low), value + wider * (high - value)


def average(values: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the mean of what was observed; NaN, without a warning, where nothing was."""
    seen = np.isfinite(values)
    count = seen.sum(axis=axis)
    total = np.where(seen, values, 0.0).sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan), dtype=np.float64)


def _share_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    """Return Wilson's ends with the effective size; of 0 and 1 with the number of units."""
    rate = np.clip(value, 0, 1)
    spread = rate * (1 - rate)
    inside = (rate > 0) & (rate < 1)
    # q / ν, where ν = T (1 - T) / V: nothing but the half width where it is wanted.
    inverse = np.where(inside, half**2 / np.where(inside, spread, 1), t**2 / units + 0 * half)
    middle = (rate + inverse / 2) / (1 + inverse)
    around = np.sqrt(spread * inverse + inverse**2 / 4) / (1 + inverse)
    return np.asarray(np.maximum(middle - around, 0)), np.asarray(np.minimum(middle + around, 1))


def _correlation_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    inside = np.abs(value) < 1
    within = np.where(inside, value, 0)
    z, apart = np.arctanh(within), half / (1 - within**2)
    return (
        np.where(inside, np.tanh(z - apart), np.clip(value - half, -1, 1)),
        np.where(inside, np.tanh(z + apart), np.clip(value + half, -1, 1)),
    )


def _positive_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    above = value > 0
    ratio = half / np.where(above, value, 1)
    low, high = value * np.exp(-ratio), value * np.exp(ratio)
    return np.where(above, low, np.maximum(value - half, 0)), np.where(above, high, value + half)


SCALED_ENDS = {"share": _share_ends, "correlation": _correlation_ends, "positive": _positive_ends}
"""Functions of numbers, half widths of plain intervals, quantiles of t and units: both ends."""
