"""Boxes: quantiles of values, and whiskers."""

import numpy as np
from jaxtyping import Float64

MARKS = ("low", "first", "median", "third", "high")
"""Ends of the whiskers, quartiles and median, as boxes are drawn."""

WHISKER = 1.5
"""Whiskers reach to what was seen within this many heights of the box beyond it (Tukey 1977)."""


def boxes(
    counts: Float64[np.ndarray, "*entry bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "*entry mark"]:
    """Compute `MARKS` of each entry; NaN where nothing was counted.

    Quantiles are interpolated within their bin, and are off by the width of a bin at most; the ends
    of whiskers are edges of bins.
    """
    flat = counts.reshape(-1, counts.shape[-1])
    marks = np.array([_box(row, edges) for row in flat])
    return marks.reshape(*counts.shape[:-1], len(MARKS))


def _box(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "mark=5"]:
    if not counts.sum():
        return np.full(len(MARKS), np.nan)
    first, median, third = (_quantile(counts, edges, level) for level in (0.25, 0.5, 0.75))
    reach = WHISKER * (third - first)
    occupied = np.flatnonzero(counts)
    # A whisker ends at the outermost occupied bin that lies within reach, if only in part.
    lows, highs = edges[occupied], edges[occupied + 1]
    low = lows[highs > first - reach][0]
    high = highs[lows < third + reach][-1]
    return np.array([max(low, first - reach), first, median, third, min(high, third + reach)])


def _quantile(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"], level: float
) -> float:
    """Return the value below which a share ``level`` of observations lies, uniform in a bin."""
    below = np.concatenate([[0.0], counts.cumsum()])
    wanted = level * below[-1]
    place = int(np.searchsorted(below, wanted, side="left"))
    # The lowest quantile of an empty beginning lies in the first occupied bin.
    place = max(place, 1)
    inside = (wanted - below[place - 1]) / counts[place - 1]
    return float(edges[place - 1] + inside * (edges[place] - edges[place - 1]))
