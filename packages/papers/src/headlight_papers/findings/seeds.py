"""Estimates over models that differ in their seed."""

import numpy as np
from numpy.typing import NDArray

from headlight.result.estimate import Estimate


def over_seeds(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of models that differ in their seed, by Student's t; no interval for one."""
    from scipy.special import stdtrit

    mean, half = np.mean(values), np.nan
    if len(values) > 1:
        half = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values))
    return Estimate.with_ends(mean, mean - half, mean + half)
