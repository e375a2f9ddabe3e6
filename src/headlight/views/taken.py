"""The figure to take away: what is looked at, what is moved, and what counts, head by head."""

import numpy as np
import xarray as xr
from markupsafe import Markup
from numpy.typing import NDArray

from headlight.findings import average, category_label, name_of, share, surveyed
from headlight.views.markup import element, number
from headlight.views.numbers import percent_cell
from headlight.views.panel import BOTTOM, LEFT, RIGHT, TOP, frame, text, value_axis
from headlight.views.point_labels import Box, Spot, point_labels
from headlight.views.scale import Scale, round_domain
from headlight.vocabulary import CATEGORIES, Measure, head_name

LOOKED_AT = tuple(name for name in CATEGORIES if name != "other")
_STANDS_OUT = 0.1
"""A head whose share changes by so much has its name beside it."""


def taken_panels(result: xr.Dataset) -> list[Markup]:
    """A panel for each kind of token, with a line for each head from measure to measure.

    The list is empty where there are no two measures to compare.
    """
    rows = surveyed(result)
    if len(rows) < 2:
        return []
    values = {name: np.stack([share(result, row.name, name) for row in rows]) for name in LOOKED_AT}
    # Kinds of token that no head looks at have nothing to lose.
    seen = {
        name: each
        for name, each in values.items()
        if np.isfinite(each).any() and float(np.nanmax(each)) >= _STANDS_OUT
    }
    both = [np.array([0.0]), *(each[np.isfinite(each)] for each in seen.values())]
    low, high = (float(of(np.concatenate(both))) for of in (np.min, np.max))
    upward = Scale(*round_domain(low, high), BOTTOM, TOP + 6)
    return [_panel(result, name, each, rows, upward) for name, each in seen.items()]


def _panel(
    result: xr.Dataset,
    category: str,
    values: NDArray[np.float64],
    rows: list[Measure],
    upward: Scale,
) -> Markup:
    """One kind of token; values are [measure, layer, head]."""
    across = Scale(0, len(rows) - 1, LEFT + 64, RIGHT - 34)
    title = f"Share of {category_label(result, category)} (%)"
    means = [float(average(each)) for each in values]
    spoken = ", ".join(
        f"{row.short} {percent_cell(mean)}" for row, mean in zip(rows, means, strict=True)
    )
    parts = [
        text(title, LEFT - 38, 14, "panel-title", "start"),
        *value_axis(upward, percent_cell),
        *(text(row.short, across(at), BOTTOM + 16, "tick") for at, row in enumerate(rows)),
        _lines(values, across, upward, category),
        *(_dots(result, values[at], row, (across(at), upward)) for at, row in enumerate(rows)),
        element(
            "path",
            class_=f"line s-{category}",
            d=_path([(across(at), upward(mean)) for at, mean in enumerate(means)]),
        ),
        *_names(result, values, across, upward),
    ]
    return frame(f"{title}. Means over heads: {spoken}.", parts)


def _lines(values: NDArray[np.float64], across: Scale, upward: Scale, category: str) -> Markup:
    """The lines of all heads as one path."""
    lines = [
        _path([(across(at), upward(float(value))) for at, value in enumerate(head)])
        for head in values.reshape(len(values), -1).T
    ]
    return element("path", class_=f"slopes s-{category}", d="".join(lines))


def _path(points: list[tuple[float, float]]) -> str:
    shown = [f"{number(x)} {number(y)}" for x, y in points if np.isfinite(y)]
    return f"M{'L'.join(shown)}" if shown else ""


def _dots(
    result: xr.Dataset, values: NDArray[np.float64], row: Measure, place: tuple[float, Scale]
) -> Markup:
    """All heads by one measure, above its name."""
    x, upward = place
    layers = result["layer"].values.tolist()
    seen = np.argwhere(np.isfinite(values)).tolist()
    found = [(layers[layer], head, float(values[layer, head])) for layer, head in seen]
    return element(
        "path",
        class_=f"dots s-{row.name}",
        d="".join(f"M{number(x)} {number(upward(value))}h0" for *_, value in found),
        data_series=row.short,
        data_heads="|".join(f"{head_name(*head)} {percent_cell(v)}%" for *head, v in found),
    )


def _names(
    result: xr.Dataset, values: NDArray[np.float64], across: Scale, upward: Scale
) -> list[Markup]:
    """The heads that change most, named where they begin."""
    change = np.nanmax(np.abs(values - values[:1]), axis=0, initial=0.0, where=~np.isnan(values))
    spots = [
        Spot(
            across(0),
            upward(float(values[0, layer, head])),
            name_of(result, int(result["layer"].values[layer]), head),
            float(change[layer, head]),
        )
        for layer, head in np.argwhere((change > _STANDS_OUT) & np.isfinite(values[0])).tolist()
    ]
    return point_labels(spots, Box(LEFT, TOP, across(0), BOTTOM))
