"""Intervals of 95% on the scale of a number, and what they decide.

The half width comes from `headlight.result.estimate`, by the delete-a-group jackknife; here are the
ends on the scale of a share, a correlation or a positive number, wider ones for what was chosen
among several, and the verdict on what lies outside.

Source: Romano and Wolf (2005), "Stepwise multiple testing as formalized data snooping", of max-t.

Source: of shares Wilson (1927), "Probable inference, the law of succession, and statistical
inference", with the effective size of Korn and Graubard (1998).
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from headlight.result.slot_coordinates import Array

FEWEST_SLOTS = 5
"""Slots that must hold something of a number, or move a difference, for it to have an interval."""

FEWEST_UNBOUNDED = 10
"""Slots that a number without an upper bound must have for an interval; few say little of it."""

FEWEST_TESTED, FEWEST_FILLED = 20, 16
"""Units, and slots that hold them, from which on many numbers may be tested at once."""

LEVEL = 0.95
SIGNS = 1000
"""Draws of random signs by which the largest of many is judged."""


def largest_t(units: Array, *, two_sided: bool = True) -> float:
    """Return what the largest |t| of many numbers stays below in 95% of corpora (max-t).

    Args:
        units: ``[slot, number]``, what blocks move each by, in its standard errors.
        two_sided: whether numbers may be too small as well.
    """
    units = units[units.any(1)]
    slots = len(units)
    if not slots:
        return np.inf
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
    """Return whether numbers are ``above`` or ``below`` others, or their intervals reach these.

    Args:
        value: a number, or an array of them.
        low: the lower ends of their intervals.
        high: the upper ends.
        other: what they are compared with.

    Returns:
        ``above``, ``below``, or ``inconclusive``, also where there is no interval, or no number.
    """
    is_known = np.isfinite(low) & np.isfinite(high)
    above = is_known & (np.minimum(value, low) > other)
    below = is_known & (np.maximum(value, high) < other)
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
