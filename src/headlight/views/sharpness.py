"""What happens to texts by how sharp attention is: bins of the largest weight."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headlight.views.pictures import Box
from headlight.views.scale import round_domain

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the bins of the largest weight, as in Figures 6 to 9 of Jain and Wallace (2019)."""

Points = NDArray[np.float64]
"""Of texts: the largest weight, and what is shown by it."""


def place_label(name: str) -> str:
    """Whose attention was replaced at once."""
    if name == "all":
        return "all layers"
    return name if "H" in name else name.replace("L", "layer ")


def binned(points: Points) -> pd.DataFrame:
    """How many texts each bin has, and the quartiles of their values."""
    rows = [
        {"largest weight": label, "texts": len(seen), **_quartiles(seen)}
        for label, seen in _in_bins(points)
    ]
    return pd.DataFrame(rows)


def boxes_by_sharpness(points: Points) -> list[Box]:
    """A box for each bin."""
    return [Box.of(label, seen) for label, seen in _in_bins(points)]


def one_range(drawn: Iterable[Sequence[Box]]) -> tuple[float, float]:
    """The vertical range of all panels of distances, so that they can be compared: from zero."""
    return round_domain(
        0.0, max((box.high for each in drawn for box in each if box.seen), default=1)
    )


def _in_bins(points: Points) -> list[tuple[str, Points]]:
    """The values of texts by the bin of their largest weight."""
    largest, values = points[:, 0], points[:, 1]
    numbers = np.clip(np.digitize(largest, EDGES) - 1, 0, len(EDGES) - 2)
    return [
        (f"{low:g}–{high:g}", values[numbers == at])
        for at, (low, high) in enumerate(pairwise(EDGES))
    ]


def _quartiles(seen: Points) -> dict[str, float]:
    names = ("lower quartile", "median", "upper quartile")
    values: Sequence[float] = (
        np.percentile(seen, [25, 50, 75]).tolist() if len(seen) else [np.nan] * 3
    )
    return dict(zip(names, values, strict=True))
