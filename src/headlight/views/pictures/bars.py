"""Bars and boxes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.colour import Number
from headlight.views.pictures.canvas import (
    BARS,
    WIDEST,
    Reference,
    entitle,
    finish,
    legend_above,
    panel_size,
    panels_on,
    percentages,
    refer_to,
    text_width,
    values_up,
)
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
from headlight.views.provenance import shortened

_WIDTH, _BAR, _BETWEEN, _LINE = 6.0, 0.17, 0.13, 0.17
_LETTERS = 60
"""Letters of a line under the axis."""
_GREY = "#aab2bb"
_NARROWEST, _TOKEN, _LEAST = 6.0, 0.29, 0.15
"""Inches: of the picture, of a token in it, and that a token needs for its name."""

_STANDS_OUT = 0.1
"""Share from which the bar of a token stands out, unless the largest is far above it."""

_TICK_STYLES = ("-", (0, (1.2, 1.0)), (0, (3, 1.2)))


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval; ``low`` and ``high`` are NaN where it has none.

    Attributes:
        series: What it is a value of.
        value: Where it stands.
        low: The lower end of its interval.
        high: The upper end.
        colour: A name of the palette, ``#rrggbb``, or empty.
        note: Beside it, e.g. the head that was best.
        faint: Whether it is grey, since what it is compared with is better.
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
    """A row.

    Attributes:
        label: At its left.
        marks: One bar or dot for each series.
        ticks: Values to compare with, by name, e.g. ``{"fixed offset": 0.40}``.
        note: To the right of the row.
    """

    label: str
    marks: Sequence[Mark]
    ticks: Mapping[str, Number] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class TokenBars:
    """Bars over the tokens of a text.

    Attributes:
        title: Over them.
        colour: A name of the palette, of bars that stand out; the others are grey.
        shares: Of each token, as parts of 1.
    """

    title: str
    colour: str
    shares: NDArray[np.float64]


@picture
def token_bars(series: Sequence[TokenBars], tokens: Sequence[str], *, title: str = "") -> Figure:
    """Draw bars over the tokens of a text, one series below the other, on one scale.

    Args:
        series: From above.
        tokens: Under the lowest; where there is no room for all, those of bars that stand out.
        title: Over the picture.

    Raises:
        UsageError: There is nothing to draw.
    """
    width = min(WIDEST, max(_NARROWEST, _TOKEN * len(tokens)))
    figure, panels = panels_on(len(series), (width, 1.35), 1)
    entitle(figure, title)
    places = np.arange(len(tokens))
    top = max(float(each.shares.max(initial=0)) for each in series)
    least = max(_STANDS_OUT, top / 5)
    for place, (axes, each) in enumerate(zip(panels, series, strict=True)):
        high = each.shares >= least
        axes.bar(places, each.shares, color=np.where(high, colour_of(each.colour, place), _GREY))
        for at in np.flatnonzero(high):
            share = float(each.shares[at])
            axes.text(float(at), share + top / 40, f"{share:.0%}", ha="center", weight="bold")
        axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(0, 1.25 * top), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.set_title(each.title)
        axes.set_xticks(places, [])
    named = places
    if len(tokens) * _LEAST > WIDEST:
        named = np.flatnonzero(np.any([each.shares >= least for each in series], axis=0))
    names = [shortened(tokens[int(at)], 20) for at in named]
    panels[-1].set_xticks(named, names, rotation=55, ha="right", rotation_mode="anchor")
    return figure


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
    """Rows of bars, or of dots where zero means nothing, with intervals and values to compare with.

    Args:
        rows: From the top.
        x_label: Under the axis; more lines say what is left out of the picture.
        percent: Whether values are shares, shown as percentages.
        dots: Dots instead of bars.
        limits: Of the axis; from the values when None.
        title: Over the picture.

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
            _note(axes, mark.note, [mark], {}, y)
            if not mark.faint or mark.series not in handles:
                handles[mark.series] = drawn
        for name, value in row.ticks.items():
            if math.isfinite(value):
                drawn = _tick(axes, name, value, (top, top + lane), names)
                handles.setdefault(name, drawn)
        _note(axes, row.note, row.marks, row.ticks, top + lane / 2)
    _axis(axes, rows, lane, limits)
    if percent:
        axes.xaxis.set_major_formatter(percentages)
    axes.set_xlabel("\n".join(lines))
    legend_above(figure, list(handles.values()), title)
    return figure


def _mark(axes: Axes, mark: Mark, y: float, index: int, *, dots: bool) -> Any:
    """One bar or dot; returns what the legend shows."""
    colour = _GREY if mark.faint else colour_of(mark.colour, index)
    handle: Any
    if dots:
        marker = marker_of(mark.colour, index)
        (handle,) = axes.plot(
            mark.value, y, marker, color=colour, markersize=5.5, label=mark.series, zorder=4
        )
    else:
        handle = axes.barh(y, mark.value, _BAR * 0.86, color=colour, label=mark.series, zorder=2)
    if math.isfinite(mark.low) and math.isfinite(mark.high):
        for width, line, order in ((2.6, PAPER, 2.5), (1.1, INK, 3)):
            axes.plot([mark.low, mark.high], [y, y], color=line, linewidth=width, zorder=order)
    return handle


def _tick(
    axes: Axes, name: str, value: Number, ends: tuple[float, float], names: Sequence[str]
) -> Any:
    """A short upright line at a value to compare with."""
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


def _note(
    axes: Axes, note: str, marks: Sequence[Mark], ticks: Mapping[str, Number], y: float
) -> None:
    """Words to the right of some marks and ticks."""
    reach = [*(value for mark in marks for value in (mark.value, mark.high)), *ticks.values()]
    if note:
        text = axes.annotate(
            shortened(note, 32),
            (max(filter(math.isfinite, reach), default=0.0), y),
            xytext=(5, 0),
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
    axes.set_ylim(len(rows) * pitch - _BETWEEN / 2, -_BETWEEN / 2)
    axes.margins(y=0)
    axes.grid(visible=True, axis="x")
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="x", length=0)
    if limits is not None:
        axes.set_xlim(*limits)


SHADE = 0.35
"""Opacity of the colour of a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """Five numbers: the ends of the whiskers, the quartiles and the median.

    Boxes without a label share that of the last before them that has one.
    """

    label: str
    low: Number
    first: Number
    median: Number
    third: Number
    high: Number
    colour: str = ""

    @classmethod
    def of(cls, label: str, values: NDArray[Any], colour: str = "") -> "Box":
        """The box of values; its whiskers end at the 5th and the 95th percentile."""
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        if not finite.size:
            return cls(label, nan, nan, nan, nan, nan, colour)
        low, first, median, third, high = map(float, np.percentile(finite, [5, 25, 50, 75, 95]))
        return cls(label, low, first, median, third, high, colour)

    @property
    def seen(self) -> bool:
        """Whether all five are numbers."""
        return all(map(np.isfinite, (self.low, self.first, self.median, self.third, self.high)))


@dataclass(frozen=True, slots=True)
class BoxPanel:
    """Panel of boxes beside each other."""

    title: str
    boxes: Sequence[Box]
    x_label: str = ""
    y_label: str = ""
    percent: bool = False
    limits: tuple[Number, Number] | None = None
    references: Sequence[Reference] = ()


@picture
def boxes(
    panels: Sequence[BoxPanel],
    *,
    columns: int | None = None,
    title: str = "",
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Panels of boxes; the line in a box is the median, the whiskers what the box was given.

    After Brunner et al. (2020), Figures 3 and 26 to 37. What is named in `colours` stands in a
    legend.

    Raises:
        UsageError: There is nothing to draw.
    """
    from matplotlib.patches import Patch

    most = max((len(panel.boxes) for panel in panels), default=0)
    width = min(WIDEST, max(3.75, 0.9 + 0.26 * most))
    size = panel_size(len(panels), (width, 2.85)) if width < 5 else (width, 2.85)
    figure, all_axes = panels_on(len(panels), size, columns)
    handles = [
        Patch(color=colour, alpha=SHADE, label=name) for name, colour in (colours or {}).items()
    ]
    legend_above(figure, handles, title)
    for axes, panel in zip(all_axes, panels, strict=True):
        for place, box in enumerate(panel.boxes):
            if box.seen:
                _draw(axes, box, place)
        _names(axes, panel, width)
        values_up(axes, percent=panel.percent, limits=panel.limits)
        refer_to(axes, panel.references)
        finish(axes, panel.title, panel.x_label, panel.y_label)
    return figure


def _draw(axes: Axes, box: Box, place: int) -> None:
    from matplotlib.patches import Rectangle

    colour = colour_of(box.colour or "weight", 0)
    ends = [(box.low, box.first), (box.third, box.high)]
    for start, end in ends:
        axes.plot([place, place], [start, end], color=colour, linewidth=1.0, zorder=2)
    axes.add_patch(
        Rectangle(
            (place - 0.32, box.first),
            0.64,
            box.third - box.first,
            facecolor=colour,
            edgecolor=colour,
            alpha=SHADE,
            zorder=2,
        )
    )
    axes.plot(
        [place - 0.32, place + 0.32],
        [box.median] * 2,
        color=INK,
        linewidth=1.6,
        solid_capstyle="butt",
        zorder=3,
    )


def _names(axes: Axes, panel: BoxPanel, width: float) -> None:
    """The labels of the boxes, upright where they do not fit side by side."""
    total = len(panel.boxes)
    begins = [at for at, box in enumerate(panel.boxes) if box.label or not at]
    sizes = np.diff([*begins, total])
    names = [shortened(panel.boxes[at].label, 20) for at in begins]
    room = (width - 0.9) / max(total, 1) * sizes
    upright = any(
        text_width(name, SMALL) > 0.9 * wide for name, wide in zip(names, room, strict=True)
    )
    axes.set_xticks(begins + (sizes - 1) / 2, names, rotation=90 if upright else 0)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, total - 0.4)
