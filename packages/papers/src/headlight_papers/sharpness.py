"""Texts in groups, by place of the attention: by their largest weight, or as a study has them."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headlight.views.axis_ranges import round_domain
from headlight.views.parts import Figure
from headlight.views.pictures import Box, BoxPanel, boxes

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Edges of the bins of the largest weight, as in Figures 6 to 9 of Jain and Wallace (2019)."""

Groups = Mapping[str, Mapping[str, NDArray[np.float64]]]
"""Values of texts, by place and by the name of the group."""


def place_label(name: str) -> str:
    """Return the label of the place whose attention was replaced at once."""
    if name == "all":
        return "all layers"
    return name if "H" in name else name.replace("L", "layer ")


def places_of(result: xr.Dataset) -> list[str]:
    """Return the places of all layers at once and of single ones; else of one head."""
    names = list(map(str, result["place"].values))
    return [name for name in names if "H" not in name] or names[:1]


def by_largest_weight(result: xr.Dataset, quantity: str) -> Groups:
    """Return a quantity of the sampled texts in bins of their largest weight."""
    groups = {}
    for place in places_of(result):
        points = result["points"].sel(place=place)
        values = points.sel(quantity=quantity).values
        bins = np.digitize(points.sel(quantity="largest_weight").values, EDGES) - 1
        bins = bins.clip(0, len(EDGES) - 2)
        groups[place] = {
            f"{low:g}–{high:g}": values[bins == at]
            for at, (low, high) in enumerate(pairwise(EDGES))
        }
    return groups


def spread_table(groups: Groups, kind: str) -> pd.DataFrame:
    """Return the number of texts in each group, and the quartiles of their values."""
    rows = []
    for place, of_place in groups.items():
        for name, values in of_place.items():
            finite = values[np.isfinite(values)]
            quartiles = np.percentile(finite, [25, 50, 75]) if finite.size else [np.nan] * 3
            rows.append((place_label(place), name, finite.size, *quartiles))
    names = ("lower quartile", "median", "upper quartile")
    return pd.DataFrame(rows, columns=["attention", kind, "texts", *names])


def spread_boxes(
    groups: Groups, kind: str, label: str, limits: tuple[float, float] | None = None
) -> Figure:
    """Draw a panel for each place, and in it a box for each group.

    Args:
        groups: Groups of texts, by place.
        kind: Label of the horizontal axis.
        label: Label of the vertical axis.
        limits: Limits of the vertical axis; by default from zero, and the same for all panels, so
            that they can be compared.
    """
    drawn = {
        place: [Box.from_values(*group) for group in values_by_group.items()]
        for place, values_by_group in groups.items()
    }
    highest = max(
        (box.high for place_boxes in drawn.values() for box in place_boxes if box.seen), default=1
    )
    limits = limits or round_domain(0.0, highest)
    return boxes(
        [
            BoxPanel(place_label(place), place_boxes, kind, label, limits=limits)
            for place, place_boxes in drawn.items()
        ]
    )
