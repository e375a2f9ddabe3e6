"""Bars and dots, with intervals and values to compare with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headlight.errors import UsageError
from headlight.views.number_formats import Number, decimal, percent_cell
from headlight.views.pictures.axes import percentages
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.legends import legend_above
from headlight.views.pictures.panels import BARS
from headlight.views.pictures.theme import (
    INK,
    PAPER,
    QUIET,
    SMALL,
    Axes,
    Figure,
    colour_of,
    marker_of,
    picture,
)
from headlight.views.titles import shortened

_WIDTH, _BAR, _BETWEEN, _LINE = 6.0, 0.17, 0.13, 0.17
_LETTERS, _APART = 60, 8
"""Letters of a line under the axis, and points between the numbers of a row and its note."""
GREY = "#aab2bb"

_TICK_STYLES = ("-", (0, (1.2, 1.0)), (0, (3, 1.2)))


@dataclass(frozen=True, slots=True)
class Mark:
    """Value with its interval; ``low`` and ``high`` are NaN where it has none.

    Attributes:
        series: Name of the series.
        value: Value on the axis.
        low: Lower end of its interval.
        high: Upper end of its interval.
        colour: Name in the palette, ``#rrggbb``, or empty.
        note: Note beside it, e.g. the head that was best.
        faint: Whether it is grey, since the value that it is compared with is better.
    """

    series: str
    value: Number
    low: Number = math.nan
    high: Number = math.nan
    colour: str = ""
    note: str = ""
    faint: bool = False


@dataclass(frozen=True, slots=True)
class BarRow:
    """Row of a bar chart.

    Attributes:
        label: Label at the left of the row.
        marks: Bars or dots, one for each series.
        ticks: Values to compare with, by name, e.g. ``{"fixed offset": 0.40}``.
        note: Note to the right of the row.
    """

    label: str
    marks: Sequence[Mark]
    ticks: Mapping[str, Number] = field(default_factory=dict)
    note: str = ""


@picture
def bars(
    rows: Sequence[BarRow],
    *,
    x_label: str = "",
    percent: bool = False,
    dots: bool = False,
    limits: tuple[Number, Number] | None = None,
    title: str = "",
) -> Figure:
    """Draw rows of bars, or dots where zero means nothing, with intervals and reference values.

    Args:
        rows: Rows from the top.
        x_label: Label under the axis; further lines say what is left out of the picture.
        percent: Whether values are shares, shown as percentages.
        dots: Whether to draw dots instead of bars.
        limits: Limits of the axis; from the values when None.
        title: Title over the picture.

    Raises:
        UsageError: There is nothing to draw.
    """
    from matplotlib.figure import Figure as Sheet

    if not rows:
        raise UsageError("a picture of bars needs at least one row; none was given.")
    series = list(dict.fromkeys(mark.series for row in rows for mark in row.marks))
    names = list(dict.fromkeys(name for row in rows for name in row.ticks))
    lane = max(len(series), 1) * _BAR
    lines = [shortened(line, _LETTERS) for line in x_label.split("\n")]
    height = len(rows) * (lane + _BETWEEN) + 0.75 + (0.3 if title else 0)
    height += _LINE * (len(lines) - 1)
    figure = Sheet(figsize=(_WIDTH, height), layout="constrained")
    figure.set_gid(BARS)
    axes = figure.subplots()
    handles: dict[str, Any] = {}
    for place, row in enumerate(rows):
        top = place * (lane + _BETWEEN)
        for mark in row.marks:
            index = series.index(mark.series)
            # What stands alone is beside its label.
            y = top + (lane / 2 if len(row.marks) == 1 else _BAR * (index + 0.5))
            drawn = _mark(axes, mark, y, index, dots=dots)
            number = _number(mark.value, percent=percent)
            written = f"{number}  {mark.note}".rstrip()
            _note(axes, written, [0.0 if not dots else mark.value, mark.value, mark.high], y)
            if not mark.faint or mark.series not in handles:
                handles[mark.series] = drawn
        for name, value in row.ticks.items():
            if math.isfinite(value):
                drawn = _tick(axes, name, value, (top, top + lane), names)
                handles.setdefault(name, drawn)
        reach = [value for mark in row.marks for value in (mark.value, mark.high)]
        numbers = [_number(mark.value, percent=percent) for mark in row.marks]
        wide = max((text_width(number, SMALL) for number in numbers), default=0.0)
        _note(axes, row.note, [*reach, *row.ticks.values()], top + lane / 2, 72 * wide + _APART)
    _axis(axes, rows, lane, limits)
    if percent:
        axes.xaxis.set_major_formatter(percentages)
    axes.set_xlabel("\n".join(lines))
    legend_above(figure, list(handles.values()), title)
    return figure


def _mark(axes: Axes, mark: Mark, y: float, index: int, *, dots: bool) -> Any:
    """Draw one bar or dot, and return its handle for the legend."""
    colour = GREY if mark.faint else colour_of(mark.colour, index)
    handle: Any
    if dots:
        marker = marker_of(mark.colour, index)
        (handle,) = axes.plot(
            mark.value, y, marker, color=colour, markersize=5.5, label=mark.series, zorder=4
        )
    else:
        handle = axes.barh(y, mark.value, _BAR * 0.86, color=colour, label=mark.series, zorder=2)
    if math.isfinite(mark.low) and math.isfinite(mark.high):
        # A light line under the dark one, which is seen on dark bars as well.
        for width, line, order in ((2.6, PAPER, 2.5), (1.1, INK, 3)):
            axes.plot([mark.low, mark.high], [y, y], color=line, linewidth=width, zorder=order)
    return handle


def _tick(
    axes: Axes, name: str, value: Number, ends: tuple[float, float], names: Sequence[str]
) -> Any:
    """Draw a short upright line at a reference value."""
    (line,) = axes.plot(
        [value, value],
        [ends[0] - 0.02, ends[1] + 0.02],
        color=INK,
        linewidth=1.7,
        linestyle=_TICK_STYLES[names.index(name) % len(_TICK_STYLES)],
        label=name,
        zorder=4,
    )
    return line


def _number(value: Number, *, percent: bool) -> str:
    """Return the number of a mark as it is written beside it."""
    if not math.isfinite(value):
        return ""
    return f"{percent_cell(value)}%" if percent else decimal(value)


def _note(axes: Axes, note: str, reach: Sequence[Number], y: float, beyond: float = 0.0) -> None:
    """Write words to the right of all these values, and some points beyond them."""
    if note:
        text = axes.annotate(
            shortened(note, 44),
            (max(filter(math.isfinite, reach), default=0.0), y),
            xytext=(5 + beyond, 0),
            textcoords="offset points",
            va="center_baseline",
            size=SMALL,
            color=QUIET,
            zorder=5,
        )
        text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.3})


def _axis(
    axes: Axes, rows: Sequence[BarRow], lane: float, limits: tuple[Number, Number] | None
) -> None:
    pitch = lane + _BETWEEN
    middles = [place * pitch + lane / 2 for place in range(len(rows))]
    axes.set_yticks(middles, [shortened(row.label, 32) for row in rows], color=INK)
    # From the top: the first row has the lowest number.
    axes.set_ylim(len(rows) * pitch - _BETWEEN / 2, -_BETWEEN / 2)
    axes.margins(y=0)
    axes.grid(visible=True, axis="x")
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="x", length=0)
    if limits is not None:
        axes.set_xlim(*limits)
