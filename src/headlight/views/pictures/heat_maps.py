"""Heat maps, side by side."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.axis_ranges import round_domain
from headlight.views.colours import text_in_figures
from headlight.views.number_formats import Number
from headlight.views.pictures.heat_map_layout import (
    MapLayout,
    cell_texts,
    label_step,
    label_texts,
    lay_out,
    number_fits,
)
from headlight.views.pictures.panels import entitle, finish, heads_id, panels_on, wrapped
from headlight.views.pictures.theme import (
    FAINT,
    LINE,
    PAPER,
    SMALL,
    STRONG,
    Axes,
    Figure,
    colour_map,
    picture,
)
from headlight.views.titles import shortened
from headlight.vocabulary import head_name

_AS_IMAGE = 1500
"""Cells above which a map is one image in an SVG, and not a shape for each cell."""

_NUMBERS = 600
"""Number of cells up to which numbers are written into them by default."""

_BESIDE, _TITLE_LINE = 0.7, 0.17
"""Inches beside a map over which its title may go on, and of each further line of it."""


@dataclass(frozen=True, slots=True)
class HeadMap:
    """Heat map with its labels and colours.

    Attributes:
        title: Title over the map.
        values: Values, [row, column]; NaN where there is no value.
        rows: Labels of the rows from the top; their numbers when None.
        columns: Labels of the columns; their numbers when None. Where some are empty, the others
            are shown as they are; otherwise as many as there is room for.
        row_label: Label of the axis of rows.
        column_label: Label of the axis of columns.
        scale: Ramp of the report: ``weight``, ``norm``, ..., or the two-sided ``change``.
        limits: Values with the lightest and the darkest colour; from the data when None.
        format: Python format of the numbers in the cells, e.g. ``.0%``.
        framed: Cells (row, column) with a frame.
        unit: Unit beside the scale of colours.
        named: Whether rows and columns are numbers of layers and heads, counted from 0.
        low_is_good: Whether the smallest value has the darkest colour, as of error rates.
        hatched: Whether cells without a value are hatched, or left blank.
    """

    title: str
    values: NDArray[Any]
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    row_label: str = "layer"
    column_label: str = "head"
    scale: str = "weight"
    limits: tuple[Number, Number] | None = None
    format: str = ""
    framed: Collection[tuple[int, int]] = ()
    unit: str = ""
    named: bool = False
    low_is_good: bool = False
    hatched: bool = True

    @property
    def colours(self) -> Any:
        """Ramp of the map as a colour map of matplotlib."""
        ramp = colour_map(self.scale)
        return ramp.reversed() if self.low_is_good else ramp

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

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """Labels of rows and columns as they can be shown."""
        rows, columns = self.values.shape
        return label_texts(self.rows, rows), label_texts(self.columns, columns)


@picture
def head_map(
    maps: Sequence[HeadMap],
    *,
    columns: int | None = None,
    shared: bool = True,
    annotate: bool | None = None,
    title: str = "",
) -> Figure:
    """Draw heat maps side by side.

    After Kobayashi et al. (2020), Figures 4, 8 and 10 to 17; Brunner et al. (2020), Figures 6 and
    19 to 25.

    Args:
        maps: Maps, one for each panel.
        columns: Number of maps in a row; as many as fit when None.
        shared: Whether maps of one colour scale share its range, so that they can be compared.
        annotate: Whether the numbers that fit are written into the cells; when None, where all do.
        title: Title over all maps.

    Raises:
        UsageError: There is nothing to draw.
    """
    if not maps:
        raise UsageError("a picture needs at least one map; none was given.")
    rows, tops = ([name for panel in maps for name in panel.labels[side]] for side in (0, 1))
    layout = lay_out([panel.values.shape for panel in maps], rows, tops, columns)
    room = layout.cell[0] * max(panel.values.shape[1] for panel in maps) + _BESIDE
    titles = [wrapped(panel.title, room) for panel in maps]
    more = _TITLE_LINE * max(name.count("\n") for name in titles)
    size = (layout.panel[0], layout.panel[1] + more)
    figure, all_axes = panels_on(len(maps), size, layout.across)
    entitle(figure, title)
    meshes = []
    for axes, panel, name in zip(all_axes, maps, titles, strict=True):
        together = [panel]
        if shared:
            together = [
                other for other in maps if (other.scale, other.unit) == (panel.scale, panel.unit)
            ]
        limits = _range(panel, together)
        meshes.append(_draw(axes, panel, limits))
        _labels(axes, panel, layout)
        if texts := _numbers(panel, together, layout, annotate):
            _annotate(axes, panel, limits, texts, layout)
        finish(axes, name, panel.column_label, panel.row_label)
    one_range = shared and len({(panel.scale, panel.limits, panel.unit) for panel in maps}) == 1
    bars = [(0, all_axes)] if one_range else list(enumerate(all_axes))
    for place, beside in bars:
        bar = figure.colorbar(meshes[place], ax=beside, shrink=0.8, aspect=22, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        bar.ax.set_ylabel(shortened(maps[place].unit, 30))
    return figure


def _range(panel: HeadMap, together: Sequence[HeadMap]) -> tuple[Number, Number]:
    """Return the values at the ends of the ramp.

    The ramp begins at zero, so that twice as dark is twice as much; zero is the middle of a
    two-sided ramp.
    """
    if panel.limits is not None:
        return panel.limits
    values = np.concatenate([other.values.ravel() for other in together])
    finite = values[np.isfinite(values)].astype(np.float64)
    if panel.scale == "change":
        most = float(np.abs(finite).max(initial=0.0)) or 1.0
        return -most, most
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    return round_domain(low, high)


def _draw(axes: Axes, panel: HeadMap, limits: tuple[Number, Number]) -> Any:
    """Draw the cells; those without a value are hatched, or blank."""
    from matplotlib.patches import Rectangle

    values = np.ma.masked_invalid(np.asarray(panel.values, dtype=np.float64))
    rows, columns = values.shape
    if panel.hatched and values.mask.any():
        hatched: dict[str, Any] = {
            "facecolor": FAINT,
            "edgecolor": LINE,
            "hatch": "////",
            "zorder": 0,
        }
        axes.add_patch(Rectangle((-0.5, -0.5), columns, rows, **hatched))
    settings: dict[str, Any] = {"cmap": panel.colours, "vmin": limits[0], "vmax": limits[1]}
    mesh: Any
    if values.size > _AS_IMAGE:
        mesh = axes.imshow(values, aspect="auto", interpolation="none", **settings)
    else:
        edges = (np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5)
        mesh = axes.pcolormesh(*edges, values, edgecolors=PAPER, linewidth=0.6, **settings)
    if panel.named:
        mesh.set_gid(heads_id(axes, _heads(panel)))
    for row, column in panel.framed:
        frame: dict[str, Any] = {"fill": False, "edgecolor": STRONG, "linewidth": 1.4}
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **frame))
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return mesh


def _heads(panel: HeadMap) -> list[str]:
    """Return the heads of the cells, row by row; empty where there is no value."""
    rows, columns = panel.labels
    return [
        head_name(int(rows[row]), int(columns[column])) if np.isfinite(value) else ""
        for (row, column), value in np.ndenumerate(panel.values)
    ]


def _labels(axes: Axes, panel: HeadMap, layout: MapLayout) -> None:
    """Write as many labels of rows and columns as there is room for."""
    rows, columns = panel.labels
    step = label_step(columns, layout.cell[0]) if layout.upright else 1
    rotation = 90 if layout.upright else 0
    axes.set_xticks(range(0, len(columns), step), columns[::step], rotation=rotation)
    step = label_step(rows, layout.cell[1])
    axes.set_yticks(range(0, len(rows), step), rows[::step])
    axes.tick_params(length=0, pad=3)


def _numbers(
    panel: HeadMap, together: Sequence[HeadMap], layout: MapLayout, wanted: bool | None
) -> list[list[str]] | None:
    """Return the numbers in the cells; None if there are none.

    Maps that share a range have numbers of one form, or none of them has any.
    """
    finite = [np.nan_to_num(np.asarray(other.values, dtype=np.float64)) for other in together]
    largest = max(float(np.abs(values).max(initial=0.0)) for values in finite)
    texts = [
        cell_texts(np.asarray(other.values, dtype=np.float64), panel.format, largest)
        for other in together
    ]
    if wanted is None:
        longest = max((text for rows in texts for row in rows for text in row), key=len, default="")
        few = all(other.values.size <= _NUMBERS for other in together)
        wanted = few and number_fits(longest, layout.cell)
    if not wanted:
        return None
    # By identity: maps hold arrays, and to compare these gives an array.
    index = next(at for at, other in enumerate(together) if other is panel)
    return texts[index]


def _annotate(
    axes: Axes,
    panel: HeadMap,
    limits: tuple[Number, Number],
    texts: Sequence[Sequence[str]],
    layout: MapLayout,
) -> None:
    """Write the numbers that fit their cells, dark on light and light on dark."""
    from matplotlib.colors import Normalize, to_hex

    fits = {text: number_fits(text, layout.cell) for row in texts for text in row}
    colours = panel.colours(Normalize(*limits)(np.asarray(panel.values, dtype=np.float64)))
    for (row, column), value in np.ndenumerate(panel.values):
        if np.isfinite(value) and fits[texts[row][column]]:
            axes.text(
                column,
                row,
                texts[row][column],
                ha="center",
                va="center_baseline",
                size=SMALL,
                color=text_in_figures(str(to_hex(colours[row, column]))),
            )
