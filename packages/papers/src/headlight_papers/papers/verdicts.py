"""What numbers say of a rule: that it holds, that it does not, or neither.

A number is known between two ends, and a rule says where it has to lie.  One function compares the
two for all papers, `lies`: an interval that is partly inside decides nothing, and neither does a
number without an interval, or one that was not measured.  Since a difference that is not
significant proves no equality, rules of equality have a margin, in which the whole interval has to
lie.
"""

from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headlight.findings.rules import chosen_ends
from headlight.reduce.intervals import (
    MeanInterval,
    correlation_interval,
    mean_difference,
    mean_interval,
    median_interval,
)

Verdict = Literal["holds", "does not hold", "inconclusive"]
Answer = bool | None
"""Whether a rule holds; None where the numbers do not decide."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number, and the ends of its interval of 95%.

    Attributes:
        value: the number; NaN where nothing was measured.
        low: the lower end; NaN where it is not known how far off the number may be.
        high: the upper end, likewise.
    """

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half: float) -> "Bounds":
        """With ends at this distance."""
        return cls(float(value), float(value - half), float(value + half))

    @classmethod
    def exact(cls, value: float) -> "Bounds":
        """A number of everything that is asked about, which therefore has no interval."""
        return cls.around(float(value), 0.0)

    @classmethod
    def resampled(cls, value: float, low: float, high: float) -> "Bounds":
        """With percentiles; if resamples are all the same, as of one document, there are none."""
        return cls(value, low, high) if low != high else cls(value, nan, nan)

    @classmethod
    def of(cls, found: MeanInterval, *, equal: bool = False) -> "Bounds":
        """Of a mean.

        Values that are all the same do not tell how far off it may be, unless they are known to be
        ``equal`` where nothing is off.
        """
        return cls.around(found.mean, found.half if equal else found.half or nan)

    def chosen(self, candidates: int, units: int) -> "Bounds":
        """Return the number with the ends that hold although it was chosen; see `chosen_ends`."""
        ends = chosen_ends(
            np.asarray(self.value),
            np.asarray(self.low),
            np.asarray(self.high),
            candidates=candidates,
            units=units,
        )
        return Bounds(self.value, *map(float, ends))

    def within(self, least: float, most: float) -> "Bounds":
        """Return the number with ends no further out than it can be, such as 0 and 100 percent."""
        return Bounds(self.value, *(float(np.clip(e, least, most)) for e in (self.low, self.high)))

    def __sub__(self, other: "Bounds") -> "Bounds":
        """Between what the difference lies, whatever the two have to do with one another."""
        return Bounds(self.value - other.value, self.low - other.high, self.high - other.low)

    def __mul__(self, factor: float) -> "Bounds":
        """Times a factor; a negative one makes the lower end the upper."""
        low, high = sorted((self.low * factor, self.high * factor))
        return Bounds(self.value * factor, low, high)

    def __format__(self, form: str) -> str:
        """``0.36 (0.32–0.40)``; without an interval the number alone."""
        if isnan(self.value):
            return "not measured"
        ends = "" if isnan(self.low) or self.low == self.high else f" ({self.low:{form}} to "
        ends += f"{self.high:{form}})" if ends else ""
        return f"{self.value:{form}}{ends}".replace("-", "−")


def mean_of(values: ArrayLike) -> Bounds:
    """The mean over seeds, splits or texts; those without a number are left out."""
    return Bounds.of(mean_interval(_measured(values)))


def difference(first: ArrayLike, second: ArrayLike) -> Bounds:
    """The mean of one group minus that of another; see `mean_difference`."""
    return Bounds.of(mean_difference(_measured(first), _measured(second)))


def median_of(values: ArrayLike) -> Bounds:
    """The median over texts; see `median_interval`."""
    value, low, high = median_interval(_measured(values))
    return Bounds(value, *((low, high) if low != high else (nan, nan)))


def correlation(rho: float, count: int) -> Bounds:
    """Spearman's ρ of this many pairs; see `correlation_interval`."""
    return Bounds(rho, *correlation_interval(rho, count))


def _measured(values: ArrayLike) -> np.ndarray:
    found = np.asarray(values, dtype=np.float64).ravel()
    return found[~np.isnan(found)]


def lies(
    number: Bounds,
    *,
    least: float = -inf,
    most: float = inf,
    above: float = -inf,
    below: float = inf,
) -> Answer:
    """Whether a number lies where a rule wants it, to judge by its interval.

    Args:
        number: with its ends.
        least: the smallest that the rule allows.
        most: the largest.
        above: the number has to be larger than this.
        below: the number has to be smaller than this.

    Returns:
        True where the whole interval lies there, False where none of it does, None otherwise, and
        of a number that was not measured or has no interval.
    """
    low, high = number.low, number.high
    if isnan(number.value) or isnan(low) or isnan(high):
        return None
    if least <= low and high <= most and above < low and high < below:
        return True
    if high < least or low > most or high <= above or low >= below:
        return False
    return None


def every(*answers: Answer) -> Answer:
    """Whether all of several rules hold; nothing holds of none."""
    if False in answers:
        return False
    return None if None in answers or not answers else True


def some(*answers: Answer) -> Answer:
    """Whether at least one of several rules holds."""
    if True in answers:
        return True
    return None if None in answers or not answers else False


def given(condition: Answer, answer: Answer) -> Answer:
    """An answer that counts only where a condition holds, such as that a model has learnt."""
    return answer if condition else None


def deny(answer: Answer) -> Answer:
    """The contrary."""
    return None if answer is None else not answer


def verdict_of(answer: Answer) -> Verdict:
    """In words."""
    if answer is None:
        return "inconclusive"
    return "holds" if answer else "does not hold"
