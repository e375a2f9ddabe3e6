"""Intervals of 95%: Student's t over seeds or folds, of medians and of correlations."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from headlight.vocabulary import FEWEST_FREEDOM

LEVEL = 0.95

TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
"""Quantiles between which a share of `LEVEL` lies."""


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """Mean with the half-width of its interval.

    Attributes:
        mean: Mean of the values.
        half: Half the width of the 95% interval of Student's t; NaN for a single value.
    """

    mean: float
    half: float

    def __str__(self) -> str:
        around = "" if np.isnan(self.half) else f" ± {self.half:.3f}"
        return f"{self.mean:.3f}{around}"


def mean_interval(values: ArrayLike) -> MeanInterval:
    """Return the interval of independent values, such as one number of each seed; NaN of none."""
    from scipy.special import stdtrit

    sample = np.asarray(values, dtype=np.float64)
    freedom = len(sample) - 1
    if freedom < 1:
        return MeanInterval(float(sample.mean()) if len(sample) else np.nan, np.nan)
    error = float(sample.std()) / np.sqrt(freedom)
    return MeanInterval(float(sample.mean()), float(stdtrit(freedom, TAILS[1]) * error))


def student(
    mean: Float64[np.ndarray, "*cell"],
    error: Float64[np.ndarray, "*cell"],
    freedom: Float64[np.ndarray, "*cell"],
    *,
    least: int = FEWEST_FREEDOM,
) -> tuple[Float64[np.ndarray, "*cell"], Float64[np.ndarray, "*cell"]]:
    """Return the ends of Student's interval of each mean; NaN where its error is unknown.

    Args:
        mean: Means.
        error: Their standard errors.
        freedom: Degrees of freedom of the standard errors.
        least: Fewest degrees of freedom that give an interval; 1 for folds, which have one size.
    """
    from scipy.special import stdtrit

    half = stdtrit(np.where(freedom >= least, freedom, np.nan), TAILS[1]) * error
    return np.asarray(mean - half), np.asarray(mean + half)


def mean_difference(first: ArrayLike, second: ArrayLike) -> MeanInterval:
    """Return the mean of one group minus that of another, by Student's t with equal variances.

    One of the two may be a single value, which is then taken to vary as the others do; of two
    single values nothing is known but the difference.
    """
    from scipy.special import stdtrit

    groups = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    if not all(map(len, groups)):
        return MeanInterval(np.nan, np.nan)
    mean, freedom = float(groups[0].mean() - groups[1].mean()), sum(map(len, groups)) - 2
    if not freedom:
        return MeanInterval(mean, np.nan)
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in groups)
    error = np.sqrt(squares / freedom * sum(1 / len(values) for values in groups))
    return MeanInterval(mean, float(stdtrit(freedom, TAILS[1]) * error))


def median_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Return the median, and the order statistics around it; NaN ends for fewer than six.

    Source: Conover (1999), Section 3.2: how many values lie below the median is binomial.
    """
    from scipy.special import bdtr

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    if not count or np.isnan(ordered).any():
        return np.nan, np.nan, np.nan
    below = int((bdtr(np.arange(count // 2), count, 0.5) <= TAILS[0]).sum())
    ends = (ordered[below - 1], ordered[count - below]) if below else (np.nan, np.nan)
    return float(np.median(ordered)), float(ends[0]), float(ends[1])


def correlation_interval(rho: float, count: int) -> tuple[float, float]:
    """Return the interval of Spearman's ρ of this many pairs; NaN for fewer than four.

    Source: Bonett and Wright (2000): Fisher's z with the variance (1 + ρ²/2) / (n − 3).
    """
    from scipy.special import ndtri

    if count < 4:
        return np.nan, np.nan
    half = ndtri(TAILS[1]) * np.sqrt((1 + rho**2 / 2) / (count - 3))
    z = np.arctanh(np.clip(rho, -1 + 1e-12, 1 - 1e-12))  # finite for ranks that are all the same
    return float(np.tanh(z - half)), float(np.tanh(z + half))
