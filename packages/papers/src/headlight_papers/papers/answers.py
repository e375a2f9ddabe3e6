"""Answers to rules from intervals of numbers: yes, no, or inconclusive."""

from math import inf, isclose, isnan, nan

import numpy as np
from numpy.typing import ArrayLike

from headlight.result.estimate import Estimate
from headlight.result.slot_coordinates import ROUNDING
from headlight_papers.intervals import (
    MeanInterval,
    correlation_interval,
    mean_difference,
    mean_interval,
    median_interval,
)

Answer = bool | None
"""Whether a rule holds; None where the numbers do not decide."""


def exact(value: float) -> Estimate:
    """Return a number of the whole population, which therefore has no error."""
    return around(value, 0.0)


def around(value: float, half: float) -> Estimate:
    """Return a number with ends at this distance."""
    return Estimate.with_ends(value, value - half, value + half)


def largest(numbers: Estimate, units: int) -> Estimate:
    """Return the largest number, with ends that hold although it was chosen.

    Args:
        numbers: Candidates for the largest number.
        units: Number of texts or documents, see `Estimate.simultaneous`.
    """
    place = numbers.first()
    return exact(nan) if place is None else numbers.simultaneous(units).at(place)


def mean_of(values: ArrayLike) -> Estimate:
    """Return the mean over seeds, splits or texts; those without a number are left out."""
    return _estimate_mean(mean_interval(_measured(values)))


def difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the mean of one group minus that of another; see `mean_difference`."""
    return _estimate_mean(mean_difference(_measured(first), _measured(second)))


def median_of(values: ArrayLike) -> Estimate:
    """Return the median over texts; see `median_interval`."""
    value, *ends = median_interval(_measured(values))
    # The median of equal values has an interval of no width, which claims too much.
    same = isclose(*ends, rel_tol=ROUNDING)
    return Estimate.with_ends(value, *((nan, nan) if same else ends))


def correlation(rho: float, count: int) -> Estimate:
    """Return Spearman's ρ of this many pairs; see `correlation_interval`."""
    return Estimate.with_ends(rho, *correlation_interval(rho, count))


def _estimate_mean(interval: MeanInterval) -> Estimate:
    # Values that are all the same do not tell how far off their mean may be.
    same = interval.half <= ROUNDING * abs(interval.mean)
    return around(interval.mean, nan if same else interval.half)


def _measured(values: ArrayLike) -> np.ndarray:
    flat = np.asarray(values, dtype=np.float64).ravel()
    return flat[~np.isnan(flat)]


def within(
    number: Estimate | float,
    *,
    least: int | float = -inf,
    most: int | float = inf,
    above: int | float = -inf,
    below: int | float = inf,
) -> Answer:
    """Return whether a number lies within the bounds of a rule, to judge by its interval.

    Args:
        number: Estimate with its interval, or a number of the whole population, which has no
            error.
        least: Smallest number that the rule allows.
        most: Largest number that the rule allows.
        above: Exclusive lower bound.
        below: Exclusive upper bound.

    Returns:
        True where the whole interval lies within the bounds, False where none of it does, None
        otherwise, and for a number that was not measured, that has no interval, or whose error
        cannot be estimated because all texts give the same.
    """
    low, high = (number, number) if isinstance(number, float) else map(float, number.interval())
    if (
        isnan(low)
        or isnan(high)
        # Ends that are equal but for float64; those of a ρ of 1 are somewhat farther apart.
        or (isclose(low, high, rel_tol=1e-12) and not isinstance(number, float))
    ):
        return None
    if least <= low and high <= most and above < low and high < below:
        return True
    if high < least or low > most or high <= above or low >= below:
        return False
    return None


def all_of(*answers: Answer) -> Answer:
    """Return whether all of several rules hold; nothing holds of none."""
    if False in answers:
        return False
    return None if None in answers or not answers else True


def any_of(*answers: Answer) -> Answer:
    """Return whether at least one of several rules holds."""
    if True in answers:
        return True
    return None if None in answers or not answers else False


def provided(condition: Answer, answer: Answer) -> Answer:
    """Return an answer that counts only where a condition holds, as that a model has learnt."""
    return answer if condition else None


def negate(answer: Answer) -> Answer:
    """Return the contrary."""
    return None if answer is None else not answer
