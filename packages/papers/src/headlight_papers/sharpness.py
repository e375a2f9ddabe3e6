"""Change of texts by how sharp attention is: bins of the largest weight."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headlight.views.colour import round_domain
from headlight.views.parts import Figure
from headlight.views.pictures import Box, BoxPanel, boxes

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the bins of the largest weight, as in Figures 6 to 9 of Jain and Wallace (2019)."""

Points = NDArray[np.float64]
"""Of texts: the largest weight, and what is shown by it."""


def place_label(name: str) -> str:
    """Return the label of the place whose attention was replaced at once."""
    if name == "all":
        return "all layers"
    return name if "H" in name else name.replace("L", "layer ")


def places_of(result: xr.Dataset) -> list[str]:
    """All layers at once and single ones; one head where there is nothing else."""
    names = list(map(str, result["place"].values))
    return [name for name in names if "H" not in name] or names[:1]


def by_sharpness(points: Mapping[str, Points]) -> pd.DataFrame:
    """Return, by place, the number of texts in each bin, and the quartiles of their values."""
    return pd.DataFrame(
        [
            {
                "attention": place_label(place),
                "largest weight": label,
                "texts": len(points_in_bin),
                **quartiles(points_in_bin),
            }
            for place, each in points.items()
            for label, points_in_bin in _in_bins(each)
        ]
    )


def boxes_by_sharpness(
    points: Mapping[str, Points], label: str, limits: tuple[float, float] | None = None
) -> Figure:
    """A panel for each place, and a box for each bin.

    Args:
        points: by place.
        label: of the vertical axis.
        limits: of it; by default from zero, and the same for all, so that they can be compared.
    """
    drawn = {place: [Box.of(*each) for each in _in_bins(of)] for place, of in points.items()}
    highest = max((box.high for each in drawn.values() for box in each if box.seen), default=1)
    limits = limits or round_domain(0.0, highest)
    return boxes(
        [
            BoxPanel(place_label(place), each, "largest weight", label, limits=limits)
            for place, each in drawn.items()
        ]
    )


def _in_bins(points: Points) -> list[tuple[str, Points]]:
    """The values of texts by the bin of their largest weight."""
    largest, values = points[:, 0], points[:, 1]
    numbers = np.clip(np.digitize(largest, EDGES) - 1, 0, len(EDGES) - 2)
    return [
        (f"{low:g}–{high:g}", values[numbers == at])
        for at, (low, high) in enumerate(pairwise(EDGES))
    ]


def quartiles(values_in_bin: Points) -> dict[str, float]:
    """Return the quartiles of values by name; NaN where there are none."""
    names = ("lower quartile", "median", "upper quartile")
    values: Sequence[float] = (
        np.percentile(values_in_bin, [25, 50, 75]).tolist() if len(values_in_bin) else [np.nan] * 3
    )
    return dict(zip(names, values, strict=True))
