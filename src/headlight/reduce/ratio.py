"""The ratio of two means in one pass, and how far it is off."""

import numpy as np

from headlight.reduce.base import Array
from headlight.reduce.pearson import Pearson


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
        left = self.first_squares - 2 * ratio * self.products + ratio**2 * self.second_squares
        pairs = self.count * np.where(self.count > 1, self.count - 1, np.nan)
        error = np.sqrt(np.maximum(left, 0) / pairs) / np.abs(whole)
        return {
            "ratio": np.asarray(ratio),
            "error": np.asarray(error),
            "count": self.count.copy(),
        }
