"""Means over seeds, with intervals."""

from dataclasses import dataclass

import numpy as np
import pandas
from scipy.stats import t as student

CERTAINTY = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over models that differ in their seeds, and how far off it may be.

    Attributes:
        mean: over seeds.
        half: half the width of the 95% interval of Student's t; NaN for a single seed.
    """

    mean: float
    half: float

    def __str__(self) -> str:
        around = "" if np.isnan(self.half) else f" ± {self.half:.3f}"
        return f"{self.mean:.3f}{around}"


def interval(values: "pandas.Series[float]") -> Interval:
    """Of one number of each seed."""
    found = values.to_numpy(dtype=np.float64)
    count = len(found)
    if count < 2:
        return Interval(float(found.mean()) if count else np.nan, np.nan)
    spread = found.std(ddof=1) / np.sqrt(count)
    return Interval(
        float(found.mean()), float(student.ppf((1 + CERTAINTY) / 2, count - 1) * spread)
    )
