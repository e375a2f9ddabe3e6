"""The canvas of pictures, and their legends."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.errors import UsageError
from headlight.views.colour import Box, LabelPosition, Number, placed_names
from headlight.views.pictures.theme import (
    FONT,
    INK,
    LARGE,
    PAPER,
    PLAIN,
    QUIET,
    SMALL,
    Axes,
    Figure,
    readable,
    spread,
)
from headlight.views.provenance import shortened

BARS = "bars"
"""The id of figures of bars, whose height says how many there are."""

WIDEST = 11.5
"""Inches; a picture is as wide as the column of a page."""

_FINE = 1200

_ACROSS, _DOWN = 88, 78
"""Units in which names of points are placed, to an inch of a panel with its labels."""

_DECADES = 5
"""Ticks of a logarithmic axis, at most: a panel has no room for more of ``1e-4``."""

_NARROW, _FEW_DECADES = 0.7, 2.0
"""Powers of ten that a logarithmic axis spans: below the first its ticks are evenly spaced numbers,
below the second there are ticks between powers."""

_LONG_TITLE, _TITLE, _NAME = 110, 44, 36
"""Columns of words that are shown: longer ones would leave no room for what they stand beside."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A value to compare with, as a dashed line across the panel.

    Attributes:
        value: On the vertical axis.
        label: Beside the line.
        upright: Whether the value is on the horizontal axis and the line upright.
    """

    value: Number
    label: str = ""
    upright: bool = False


def panel_size(count: int, size: tuple[float, float]) -> tuple[float, float]:
    """The size of a panel of curves or boxes in inches: larger where it stands alone."""
    return (1.5 * size[0], 1.15 * size[1]) if count == 1 else size


def panels_on(
    count: int, size: tuple[float, float], columns: int | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` axes of about the same size in inches, in rows.

    Raises:
        UsageError: There is nothing to draw.
    """
    from matplotlib.figure import Figure as Sheet
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if count == 0:
        raise UsageError("a picture needs at least one panel; none was given.")
    across = columns or min(count, max(1, int(WIDEST // size[0])))
    if not columns and count == across + 1:
        across = math.ceil(count / 2)  # None alone in a row.
    down = math.ceil(count / across)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06, wspace=0.03, hspace=0.04)
    figure = Sheet(figsize=(size[0] * across, size[1] * down), layout=layout)
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def stand_side_by_side(figure: Figure, starts: Sequence[float]) -> None:
    """Say where panels begin that stand side by side on one sheet, in inches from its left edge."""
    figure.set_label(" ".join(f"{start:.4f}" for start in starts))  # nobody sees it


def panel_starts(figure: Figure) -> list[float]:
    """Return the left edges of panels that stand side by side on one sheet; empty if not noted."""
    return [float(start) for start in str(figure.get_label()).split()]


def panels_across(figure: Figure) -> int:
    """Return the number of panels side by side."""
    if starts := panel_starts(figure):
        return len(starts)
    grids = [each.get_subplotspec() for each in figure.axes[:1]]
    return max((grid.get_gridspec().ncols for grid in grids if grid is not None), default=1)


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty sheet whose coordinates are inches from the upper left corner."""
    from matplotlib.figure import Figure as Sheet

    figure = Sheet(figsize=(width, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, width), ylim=(height, 0.0))
    axes.set_axis_off()
    return figure, axes


def entitle(figure: Figure, title: str) -> None:
    """A title over all panels, at the left."""
    if title:
        figure.suptitle(
            shortened(title, _LONG_TITLE), x=0.01, ha="left", fontsize=LARGE, fontweight="bold"
        )


def wrapped(title: str, room: float) -> str:
    """The title of a panel, broken between words where it is wider than the room in inches."""
    lines: list[str] = []
    for word in shortened(title, _TITLE).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, PLAIN + 0.5, "bold") <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def finish(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """The title, which may have several lines, and the names of the axes of a panel."""
    axes.set_title("\n".join(shortened(line, _TITLE) for line in title.split("\n")), pad=7)
    axes.set_xlabel(shortened(x_label, _NAME))
    axes.set_ylabel(shortened(y_label, _NAME))


def values_up(axes: Axes, *, percent: bool, limits: tuple[Number, Number] | None) -> None:
    """Faint rules across, and the vertical axis as percentages or numbers."""
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)
    if percent:
        axes.yaxis.set_major_formatter(percentages)
    if limits is not None:
        axes.set_ylim(*limits)


def name_points(axes: Axes, points: Iterable[tuple[Number, Number, str, Number]]) -> None:
    """The names of points where there is room, those that stand out most first.

    Args:
        axes: that the points are in.
        points: place across and up, name, and by how much it stands out.
    """
    axes.autoscale_view()
    room, share = _room(axes), axes.transData + axes.transAxes.inverted()
    spots = []
    for x, y, name, apart in points:
        across, up = map(float, share.transform((x, y)))
        spots.append(LabelPosition(room.right * across, room.bottom * (1 - up), name, float(apart)))
    for spot, at in placed_names(spots, room):
        across, up = at.left / room.right, 1 - (at.top + at.bottom) / 2 / room.bottom
        axes.text(
            across, up, spot.name, transform=axes.transAxes, va="center", size=SMALL - 1, color=INK
        )


def _room(axes: Axes) -> Box:
    """The inside of a panel before its layout, in the units in which names are placed."""
    figure: Any = axes.figure
    spec: Any = axes.get_subplotspec()
    grid, (wide, high) = spec.get_gridspec(), map(float, figure.get_size_inches())
    return Box(0, 0, _ACROSS * wide / grid.ncols, _DOWN * high / grid.nrows)


def share_range(panels: Sequence[Axes]) -> None:
    """One vertical range for panels of the same unit, so that they can be compared."""
    limits = [axes.get_ylim() for axes in panels]
    for axes in panels:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def free_shares(axes: Sequence[Axes], panels: Sequence[Any]) -> list[Axes]:
    """The axes of the panels that show shares and have no limits of their own."""
    return [
        one
        for one, panel in zip(axes, panels, strict=True)
        if panel.percent and panel.limits is None
    ]


def percentages(value: Number, _place: object = None) -> str:
    """A share as a tick: ``40%``."""
    return f"{100 * value:.4g}%"


def powers(value: Number, _place: object = None) -> str:
    """A tick of a logarithmic axis in plain characters: ``0.01``, ``10``, ``1e6``."""
    return (
        f"{value:,.10g}"
        if 1e-4 < value < 1e6
        else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )


def logarithms(axes: Axes, *, x: bool, y: bool) -> None:
    """Make the axes logarithmic that are to be."""
    for wanted, scale, axis in ((x, axes.set_xscale, axes.xaxis), (y, axes.set_yscale, axes.yaxis)):
        if wanted:
            scale("log")
            _few_ticks(axis)


def _few_ticks(axis: Any) -> None:
    """Few plain ticks on a logarithmic axis, where matplotlib would set mathematics.

    They are powers of ten, and between two of them 2 and 5 times the lower one as well.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else _DECADES
    if decades < _NARROW:
        axis.set_major_locator(MaxNLocator(_DECADES))
    else:
        subs = (1.0, 2.0, 5.0) if decades < _FEW_DECADES else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=_DECADES))
    axis.set_major_formatter(FuncFormatter(powers))
    axis.set_minor_formatter(NullFormatter())


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def refer_to(axes: Axes, references: Sequence[Reference]) -> None:
    """Dashed lines across a panel, each with its name at the right end."""
    for reference in references:
        if math.isfinite(reference.value):
            _refer(axes, reference)


def _refer(axes: Axes, reference: Reference) -> None:
    """The line of a reference, with its name at the right end or, if upright, at the foot."""
    value: Any = reference.value
    line: dict[str, Any] = {"color": QUIET, "linewidth": 1.0, "dashes": (4, 3), "zorder": 1.5}
    if reference.upright:
        axes.axvline(value, **line)
        place, transform, offset, side = (value, 0.0), axes.get_xaxis_transform(), (3, 3), "left"
    else:
        axes.axhline(value, **line)
        place, transform, offset, side = (1.0, value), axes.get_yaxis_transform(), (0, 3), "right"
    text = axes.annotate(
        shortened(reference.label, _NAME),
        place,
        xycoords=transform,
        xytext=offset,
        textcoords="offset points",
        ha=side,
        va="bottom",
        color=QUIET,
        fontsize=SMALL,
        fontstyle="italic",
    )
    text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.3})


def text_width(words: str, size: float, weight: str = "normal") -> float:
    """The width of words in inches, in the font of the pictures."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family=FONT, size=size, weight=weight)
    # Many dots to the inch, as widths are rounded to whole ones.
    renderer = RendererAgg(1, 1, _FINE)
    width, _, _ = renderer.get_text_width_height_descent(words, font, ismath=False)
    return float(width) / _FINE


PREFIX = "heads"


def heads_id(axes: Axes, names: Iterable[str], place: int = 0) -> str:
    """The id of the shapes of an SVG that stand for heads, which names these in their order.

    Args:
        axes: That they are in.
        names: Of the heads; empty where a shape stands for none.
        place: Of several such ids in the same axes, which one it is.
    """
    return ".".join([f"{PREFIX}-{axes.figure.axes.index(axes)}-{place}", *names])


_AT_ENDS, _LINE = 6, 0.068
"""Lines up to which their names stand at their ends, and the share of a panel's height of one."""

_LONGEST = 32
"""Columns of a name that are shown."""


def name_lines(figure: Figure, title: str, panels: Sequence[tuple[Axes, Sequence[Any]]]) -> None:
    """Title the figure and name the lines of its panels.

    Panels that show the same lines have one legend over all of them, and so do points, which have
    no ends; otherwise the names stand at the right ends of the lines, where the eye is already, or
    in a legend of the panel where lines are many.
    """
    names = [[line.get_label() for line in drawn] for _, drawn in panels]
    same = len(names[0]) > 1 and all(set(each) == set(names[0]) for each in names)
    points = any(line.get_linestyle() == "None" for _, drawn in panels for line in drawn)
    if same and (len(panels) > 1 or points):
        legend_above(figure, panels[0][1], title)
        return
    entitle(figure, title)
    for axes, drawn in panels:
        if len(drawn) > _AT_ENDS:
            settings = {"ncols": 2, "labelspacing": 0.2, "fontsize": SMALL - 0.5}
            legend_of(axes, drawn, **settings)
        elif len(drawn) > 1:
            _name_at_ends(axes, drawn)


def legend_above(figure: Figure, handles: Sequence[Any], title: str = "") -> None:
    """One legend over the first column of panels, which a narrow screen shows first."""
    if len(handles) < 2:
        entitle(figure, title)
        return
    names = [shortened(str(handle.get_label()), _LONGEST) for handle in handles]
    widths = [0.55 + text_width(name, SMALL + 0.5) for name in names]
    legend_of(
        figure,
        handles,
        title=shortened(title, 110) or None,
        title_fontproperties={"size": LARGE, "weight": "bold"},
        alignment="left",
        loc="outside upper left",
        ncols=_across(widths, float(figure.get_figwidth()) / panels_across(figure) - 0.2),
        borderaxespad=0.2,
    )


def _across(widths: Sequence[float], room: float) -> int:
    """Return the number of columns of entries that fit, of which the first are filled first."""
    for count in range(len(widths), 1, -1):
        columns = np.array_split(np.asarray(widths), count)
        if sum(float(column.max()) for column in columns) <= room:
            return count
    return 1


def legend_of(owner: Axes | Figure, handles: Sequence[Any], **settings: Any) -> Any:
    """A legend of handles by their labels, cut where they are long."""
    names = [shortened(str(handle.get_label()), _LONGEST) for handle in handles]
    return owner.legend(list(handles), names, labelcolor=INK, **settings)


def legend_beside(axes: Axes, handles: Sequence[Any], title: str, **settings: Any) -> Any:
    """A legend to the right of the axes, in as many columns as it needs."""
    return legend_of(
        axes,
        handles,
        title=title or None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        ncols=1 + (len(handles) - 1) // 18,
        alignment="left",
        **settings,
    )


def _name_at_ends(axes: Axes, drawn: Sequence[Any]) -> None:
    """The names of lines at their right ends, moved apart where the ends are close."""
    ends = [_end(line) for line in drawn]
    axes.autoscale_view()
    upward = axes.transData + axes.transAxes.inverted()
    heights = [float(upward.transform(end)[1]) for end in ends]
    for line, height in zip(drawn, spread(heights, _LINE, 0.02, 0.98), strict=True):
        axes.annotate(
            shortened(line.get_label(), _LONGEST),
            (1.0, height),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            va="center_baseline",
            color=readable(line.get_color()),
            size=SMALL + 0.5,
            annotation_clip=False,
        )


def _end(line: Any) -> tuple[float, float]:
    """The last point of a line that is a number."""
    points = np.asarray(line.get_xydata(), dtype=np.float64)
    points = points[np.isfinite(points).all(axis=1)]
    return float(points[-1, 0]), float(points[-1, 1])
