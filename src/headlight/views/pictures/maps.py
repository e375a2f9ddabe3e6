"""Heat maps: layers by heads, heads by relations, tokens by tokens."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.colour import text_colour
from headlight.views.numbers import decimal
from headlight.views.pictures.canvas import WIDEST, finish, panels_on, text_width
from headlight.views.pictures.theme import (
    FAINT,
    INK,
    LINE,
    PAPER,
    SMALL,
    STRONG,
    Axes,
    Figure,
    colour_map,
    styled,
)
from headlight.views.scale import round_domain
from headlight.views.words import shortened

_LARGEST, _SMALLEST = 0.4, 0.075
"""Inches of a cell; more cells than fit at the smallest size make the picture wider."""

_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_AS_IMAGE = 4000
"""Cells above which a map is one image in an SVG, and not a shape for each cell."""


@dataclass(frozen=True, slots=True)
class HeadMap:
    """One heat map.

    Attributes:
        title: Over it.
        values: [row, column]; NaN where there is no value.
        rows: Labels of the rows from the top; their numbers when None.
        columns: Labels of the columns; their numbers when None.
        row_label: What the rows are.
        column_label: What the columns are.
        scale: A ramp of the report: ``weight``, ``norm``, ..., or the two-sided ``change``.
        limits: The values with the lightest and the darkest colour; from the values when None.
        format: Python's format of the numbers in the cells, e.g. ``.0%``.
        framed: Cells (row, column) with a frame.
        unit: Beside the scale of colours.
    """

    title: str
    values: NDArray[Any]
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    row_label: str = "layer"
    column_label: str = "head"
    scale: str = "weight"
    limits: tuple[float, float] | None = None
    format: str = ""
    framed: Collection[tuple[int, int]] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        labels = (self.rows, self.columns)
        named = tuple(
            size if names is None else len(names)
            for size, names in zip(self.values.shape, labels, strict=False)
        )
        if self.values.ndim != 2 or 0 in self.values.shape or named != self.values.shape:
            raise UsageError(
                f"the map {self.title!r} has values of shape {self.values.shape} and labels for "
                f"{named}; it needs rows and columns with a label each."
            )


@styled
def head_map(
    maps: Sequence[HeadMap],
    *,
    columns: int | None = None,
    shared: bool = True,
    annotate: bool | None = None,
    title: str = "",
) -> Figure:
    """Heat maps side by side.

    After Kobayashi et al. (2020), Figures 4, 8 and 10 to 17; Brunner et al. (2020), Figures 6 and
    19 to 25.

    Args:
        maps: One for each panel.
        columns: Maps in a row; as many as fit when None.
        shared: Whether maps of one colour scale share its range, so that they can be compared.
        annotate: Whether the numbers are written into the cells; when None, where they fit.
        title: Over all maps.

    Raises:
        UsageError: There is nothing to draw.
    """
    cell = _cell_size(maps)
    size = _panel_size(maps, cell)
    figure, all_axes = panels_on(len(maps), size, columns, title)
    ranges = [_range(one, maps if shared else [one]) for one in maps]
    for axes, one, limits in zip(all_axes, maps, ranges, strict=True):
        mesh = _draw(axes, one, limits)
        _labels(axes, one, cell)
        if annotate if annotate is not None else _fits(one, cell):
            _annotate(axes, one, limits)
        finish(axes, one.title, one.column_label, one.row_label)
        bar = figure.colorbar(mesh, ax=axes, shrink=0.75, aspect=22, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        bar.ax.set_ylabel(one.unit)
    return figure


def _cell_size(maps: Sequence[HeadMap]) -> tuple[float, float]:
    """Width and height of a cell in inches, the same in all maps."""
    if not maps:
        return _LARGEST, _LARGEST
    most_rows = max(one.values.shape[0] for one in maps)
    most_columns = max(one.values.shape[1] for one in maps)
    wide = min(max((WIDEST - 2.4) / most_columns, _SMALLEST), _LARGEST)
    high = min(max(9.0 / most_rows, _SMALLEST), _LARGEST * 0.75)
    # Cells of tokens by tokens or layers by heads are square unless numbers need their width.
    return (wide, high) if wide >= high else (wide, min(high, 2 * wide))


def _panel_size(maps: Sequence[HeadMap], cell: tuple[float, float]) -> tuple[float, float]:
    """The size of a panel with the room for labels, title and colour bar."""
    if not maps:
        return 1.0, 1.0
    names = max(text_width(n, SMALL) for one in maps for n in _names(one.rows, one.values.shape[0]))
    tops = [
        text_width(name, SMALL) for one in maps for name in _names(one.columns, one.values.shape[1])
    ]
    upright = max(tops) > cell[0] * 0.9
    width = max(one.values.shape[1] for one in maps) * cell[0] + names + 1.25
    height = max(one.values.shape[0] for one in maps) * cell[1]
    return width, height + (max(tops) if upright else 0.15) + 0.8


def _names(labels: Sequence[str] | None, count: int) -> list[str]:
    if labels is None:
        return [str(index) for index in range(count)]
    return [shortened(label, 22) for label in labels]


def _range(one: HeadMap, together: Sequence[HeadMap]) -> tuple[float, float]:
    """The values at the ends of the ramp; the two-sided one has 0 in its middle."""
    if one.limits is not None:
        return one.limits
    values = np.concatenate([m.values.ravel() for m in together if m.scale == one.scale])
    finite = values[np.isfinite(values)].astype(np.float64)
    if not len(finite):
        return 0.0, 1.0
    if one.scale == "change":
        most = float(np.abs(finite).max()) or 1.0
        return -most, most
    low, high = float(finite.min()), float(finite.max())
    # From zero, as lightness should mean a share of the whole; not where values are far from it.
    return round_domain(0.0 if 0 <= low < 0.6 * high else low, high)


def _draw(axes: Axes, one: HeadMap, limits: tuple[float, float]) -> Any:
    """The cells; one without a value is hatched."""
    from matplotlib.patches import Rectangle

    values = np.ma.masked_invalid(np.asarray(one.values, dtype=np.float64))
    rows, columns = values.shape
    if values.mask.any():
        axes.add_patch(
            Rectangle(
                (-0.5, -0.5), columns, rows, facecolor=FAINT, edgecolor=LINE, hatch="////", zorder=0
            )
        )
    many = values.size > _AS_IMAGE
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        values,
        cmap=colour_map(one.scale),
        vmin=limits[0],
        vmax=limits[1],
        edgecolors="none" if many else PAPER,
        linewidth=0 if many else 0.6,
        rasterized=many,
    )
    for row, column in one.framed:
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=STRONG, linewidth=1.6)
        )
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return mesh


def _labels(axes: Axes, one: HeadMap, cell: tuple[float, float]) -> None:
    """As many labels of rows and columns as there is room for."""
    rows, columns = one.values.shape
    across, down = _names(one.columns, columns), _names(one.rows, rows)
    upright = max(text_width(name, SMALL) for name in across) > cell[0] * 0.9
    step = _step(0.125, cell[0]) if upright else 1
    axes.set_xticks(range(0, columns, step), across[::step], rotation=90 if upright else 0)
    step = _step(0.125, cell[1])
    axes.set_yticks(range(0, rows, step), down[::step])
    axes.tick_params(length=0, pad=3)


def _step(needed: float, cell: float) -> int:
    return next((step for step in _STEPS if step * cell >= needed), _STEPS[-1])


def _fits(one: HeadMap, cell: tuple[float, float]) -> bool:
    finite = one.values[np.isfinite(one.values)]
    if not finite.size or cell[1] < 0.15:
        return False
    longest = max((_written(float(value), one.format) for value in finite.ravel()), key=len)
    return text_width(longest, SMALL - 1) < 0.92 * cell[0]


def _annotate(axes: Axes, one: HeadMap, limits: tuple[float, float]) -> None:
    """The number of each cell, dark on light and light on dark."""
    from matplotlib.colors import to_hex

    span = (limits[1] - limits[0]) or 1.0
    ramp = colour_map(one.scale)
    for (row, column), value in np.ndenumerate(one.values):
        if np.isfinite(value):
            share = min(max((float(value) - limits[0]) / span, 0.0), 1.0)
            axes.text(
                column,
                row,
                _written(float(value), one.format),
                ha="center",
                va="center_baseline",
                size=SMALL - 1,
                color=text_colour(str(to_hex(ramp(share)))) if share else INK,
            )


def _written(value: float, format: str) -> str:
    return f"{value:{format}}" if format else decimal(value)
