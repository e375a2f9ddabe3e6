"""Lines, and slopes between two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.views.colour import Number
from headlight.views.pictures.canvas import (
    Reference,
    entitle,
    finish,
    free_shares,
    heads_id,
    logarithms,
    name_lines,
    name_points,
    panel_size,
    panels_on,
    refer_to,
    share_range,
    values_up,
    whole_numbers,
)
from headlight.views.pictures.theme import (
    INK,
    PAPER,
    SMALL,
    Axes,
    Figure,
    colour_of,
    marker_of,
    picture,
    spread,
)

SIZE = (3.75, 2.85)
_WHOLE, _DASHED = "-", (0, (4, 2))


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        label: What the legend calls it; lines of one label share a colour.
        x: [point].
        y: [point]; the line is broken at NaN.
        low: [point], the lower edge of a band around the line.
        high: [point], the upper edge.
        colour: A name of the palette, ``#rrggbb``, or empty.
        dashed: Whether the line is dashed.
        marked: Whether each point has a marker.
        joined: Whether there is a line; without it, points with markers alone.
        heads: The head of each point, if they are of heads: a page tells which is pointed at.
        named: For some points, by number, the name beside them.
    """

    label: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    colour: str = ""
    dashed: bool = False
    marked: bool = False
    joined: bool = True
    heads: Sequence[str] = ()
    named: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Panel of lines, the names of its axes, and whether these are logarithmic.

    A horizontal axis of whole numbers, such as layers, has ticks at these alone.
    """

    title: str
    series: Sequence[Line]
    x_label: str = ""
    y_label: str = ""
    percent: bool = False
    x_log: bool = False
    y_log: bool = False
    whole: bool = False
    limits: tuple[Number, Number] | None = None
    references: Sequence[Reference] = ()


@picture
def lines(panels: Sequence[LinePanel], *, columns: int | None = None, title: str = "") -> Figure:
    """Panels of lines over numbers.

    After Kobayashi et al. (2020), Figures 6, 7 and 9; Brunner et al. (2020), Figures 2, 4, 7 to 17.

    Raises:
        UsageError: There is nothing to draw.
    """
    figure, all_axes = panels_on(len(panels), panel_size(len(panels), SIZE), columns)
    labels = list(dict.fromkeys(one.label for panel in panels for one in panel.series))
    named: list[tuple[Axes, list[Any]]] = []
    for axes, panel in zip(all_axes, panels, strict=True):
        drawn = [
            _draw(axes, one, labels.index(one.label))
            for one in panel.series
            if np.isfinite(one.y).any()
        ]
        values_up(axes, percent=panel.percent, limits=panel.limits)
        logarithms(axes, x=panel.x_log, y=panel.y_log)
        if panel.whole:
            whole_numbers(axes.xaxis)
        refer_to(axes, panel.references)
        finish(axes, panel.title, panel.x_label, panel.y_label)
        named.append((axes, drawn))
    share_range(free_shares(all_axes, panels))
    for axes, panel in zip(all_axes, panels, strict=True):
        name_points(
            axes,
            [
                (one.x[at], one.y[at], name, -place)
                for one in panel.series
                for place, (at, name) in enumerate(one.named.items())
            ],
        )
    name_lines(figure, title, named)
    return figure


def _draw(axes: Axes, one: Line, place: int) -> Any:
    """The line with its band; returns the line."""
    colour = colour_of(one.colour, place)
    if one.low is not None and one.high is not None:
        axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.16, linewidth=0, zorder=1)
    (line,) = axes.plot(
        one.x,
        one.y,
        color=colour,
        linestyle=(_DASHED if one.dashed else _WHOLE) if one.joined else "none",
        marker=marker_of(one.colour, place) if one.marked else "",
        markersize=4.6,
        markeredgecolor=PAPER,
        markeredgewidth=0.6,
        label=one.label,
    )
    if one.heads:
        line.set_gid(heads_id(axes, one.heads, place))
    return line


SLOPES_SIZE = (3.75, 2.95)
_NAMED, _LINE = 5, 0.06
"""Heads that are named in a panel, and the share of its height that a name needs."""


@dataclass(frozen=True, slots=True)
class SlopePanel:
    """Panel of values that change from measure to measure.

    Attributes:
        title: Over it.
        values: [measure, head], as shares; NaN is not drawn.
        heads: Their names.
        change: A head is named if its value changes by so much.
        colour: Of the palette, or ``#rrggbb``.
    """

    title: str
    values: NDArray[np.float64]
    heads: Sequence[str]
    change: float = 0.1
    colour: str = ""


@picture
def slopes(measures: Sequence[str], panels: Sequence[SlopePanel]) -> Figure:
    """Panels of one vertical range, in which each thin line is a head and the thick one their mean.

    The heads that change most are named where they begin.

    Args:
        measures: The labels of the horizontal axis.
        panels: From the left.

    Raises:
        UsageError: There is nothing to draw.
    """
    figure, all_axes = panels_on(len(panels), SLOPES_SIZE)
    entitle(figure, "")
    for place, (axes, panel) in enumerate(zip(all_axes, panels, strict=True)):
        _draw_slopes(axes, panel, place)
        axes.set_xticks(range(len(measures)), measures)
        axes.set_xlim(-0.55, len(measures) - 0.7)
        values_up(axes, percent=True, limits=None)
        finish(axes, panel.title, "", "")
    share_range(all_axes)
    for axes, panel in zip(all_axes, panels, strict=True):
        _name(axes, panel)
    return figure


def _draw_slopes(axes: Axes, panel: SlopePanel, place: int) -> None:
    from matplotlib.collections import LineCollection

    colour = colour_of(panel.colour, place)
    at = np.arange(len(panel.values))
    thin = [np.stack([at, head], axis=1) for head in panel.values.T if np.isfinite(head).any()]
    axes.add_collection(LineCollection(thin, colors=colour, linewidths=0.8, alpha=0.4, zorder=2))
    measure, head = np.nonzero(np.isfinite(panel.values))
    (dots,) = axes.plot(
        measure,
        panel.values[measure, head],
        linestyle="none",
        marker="o",
        markersize=3.4,
        markeredgewidth=0,
        color=colour,
        alpha=0.5,
        clip_on=False,
        zorder=2,
    )
    dots.set_gid(heads_id(axes, [panel.heads[n] for n in head.tolist()]))
    finite = np.isfinite(panel.values)
    means = np.where(finite, panel.values, 0).sum(1) / np.maximum(finite.sum(1), 1)
    axes.plot(at, means, color=colour, linewidth=2.4, label="mean", clip_on=False, zorder=3)


def _name(axes: Axes, panel: SlopePanel) -> None:
    """The names of the heads that change most, at the left of their lines."""
    first = panel.values[0]
    change = np.nan_to_num(np.abs(panel.values - first)).max(axis=0, initial=0.0)
    most = np.argsort(-change, kind="stable")
    chosen = [n for n in most if change[n] > panel.change and np.isfinite(first[n])][:_NAMED]
    low, high = axes.get_ylim()
    heights = [(float(first[n]) - low) / (high - low) for n in chosen]
    for n, height in zip(chosen, spread(heights, _LINE, 0.02, 0.98), strict=True):
        axes.annotate(
            panel.heads[n],
            (0.0, low + height * (high - low)),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center_baseline",
            size=SMALL,
            color=INK,
        )
