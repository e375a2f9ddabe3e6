"""Intervals of 95% on the scale of a number, and verdicts by them.

The half width comes from `headlight.result.estimate`, by the delete-a-group jackknife; this module
computes the ends on the scale of a share, a correlation or a positive number, wider ones for a
number that was chosen among several, and the verdict on numbers outside.

Source: for max-t, Romano and Wolf (2005), "Stepwise multiple testing as formalized data snooping".

Source: for shares, Wilson (1927), "Probable inference, the law of succession, and statistical
inference", with the effective size of Korn and Graubard (1998).
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from headlight.result.slot_coordinates import Array

FEWEST_SLOTS = 5
"""Fewest slots that must be filled, or differ in a difference, for a number to have an interval."""

FEWEST_UNBOUNDED = 10
"""Fewest filled slots for the interval of a number without an upper bound, which needs more."""

FEWEST_TESTED, FEWEST_FILLED = 20, 16
"""Fewest units, and fewest slots that hold them, for tests of many numbers at once."""

LEVEL = 0.95
SIGNS = 1000
"""Number of draws of random signs by which the largest of many numbers is judged."""


def largest_t(units: Array, *, two_sided: bool = True) -> float:
    """Return the bound below which the largest |t| of many numbers stays in 95% of corpora (max-t).

    Args:
        units: Effects of blocks on each number, in its standard errors, ``[slot, number]``.
        two_sided: Whether numbers may be too small as well.
    """
    units = units[units.any(1)]
    slots = len(units)
    if not slots:
        return np.inf
    # A fixed seed, so that the same result always has the same intervals.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (SIGNS, slots))
    z = signs @ units
    z /= np.sqrt(np.maximum(1 - z**2 / slots, 1e-12) * slots / max(slots - 1, 1))
    return float(np.quantile((np.abs(z) if two_sided else z).max(1), LEVEL))


@overload
def decided(value: float, low: float, high: float, other: float) -> str: ...


@overload
def decided(value: Array, low: Array, high: Array, other: Array | float) -> NDArray[Any]: ...


def decided(
    value: Array | float, low: Array | float, high: Array | float, other: Array | float
) -> NDArray[Any] | str:
    """Return whether numbers are ``above`` or ``below`` others, or inconclusive by their intervals.

    Args:
        value: Number, or an array of numbers.
        low: Lower ends of their intervals.
        high: Upper ends of their intervals.
        other: Numbers with which they are compared.

    Returns:
        Verdict ``above``, ``below``, or ``inconclusive``; the last also without an interval or a
        number.
    """
    is_known = np.isfinite(low) & np.isfinite(high)
    above = is_known & (np.minimum(value, low) > other)
    below = is_known & (np.maximum(value, high) < other)
    verdict: NDArray[Any] | str = np.select([above, below], ["above", "below"], "inconclusive")[()]
    return verdict


def chosen_ends(
    value: Array, low: Array, high: Array, *, candidates: int, units: int
) -> tuple[Any, Any]:
    """Return the ends of the interval of a number chosen among several on the same data.

    The largest of many is too large by chance.  Intervals of 95% are moved apart to the width at
    which all candidates together lie in theirs in 95% of samples (Bonferroni, by Student's t), so
    that the ends hold whichever was chosen.

    Args:
        value: Chosen number, or an array of such numbers.
        low: Lower end of its 95% interval.
        high: Upper end of its 95% interval.
        candidates: Number of candidates, such as heads times directions.
        units: Number of texts, sentences or documents; below 2 the ends are NaN.

    Source: Dunn (1961), "Multiple comparisons among means".
    """
    from scipy.stats import t

    freedom = units - 1 if units > 1 else np.nan
    wider = t.ppf(1 - 0.025 / max(candidates, 1), freedom) / t.ppf(0.975, freedom)
    return value - wider * (value - low), value + wider * (high - value)


def _share_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    """Return Wilson's ends with the effective size, or for 0 and 1 with the number of units."""
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
