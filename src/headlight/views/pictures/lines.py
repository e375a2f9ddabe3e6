"""Lines over numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.views.number_formats import Number
from headlight.views.pictures.axes import (
    Reference,
    free_shares,
    logarithms,
    refer_to,
    share_range,
    values_up,
    whole_numbers,
)
from headlight.views.pictures.label_placing import name_points
from headlight.views.pictures.legends import name_lines
from headlight.views.pictures.panels import finish, heads_id, panel_size, panels_on
from headlight.views.pictures.theme import PAPER, Axes, Figure, colour_of, marker_of, picture

SIZE = (3.75, 2.85)
_WHOLE, _DASHED = "-", (0, (4, 2))


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a panel.

    Attributes:
        label: Label in the legend; lines of the same label share a colour.
        x: Places across, [point].
        y: Values, [point]; the line is broken at NaN.
        low: Lower edge of a band around the line, [point].
        high: Upper edge of the band, [point].
        colour: Name in the palette, ``#rrggbb``, or empty.
        dashed: Whether the line is dashed.
        marked: Whether each point has a marker.
        joined: Whether a line joins the points, which otherwise have markers alone.
        heads: Heads of the points, if they are of heads: a page tells which is pointed at.
        named: Names beside some points, by number of the point.
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
    """Draw panels of lines over numbers.

    After Kobayashi et al. (2020), Figures 6, 7 and 9; Brunner et al. (2020), Figures 2, 4, 7 to 17.

    Raises:
        UsageError: There is nothing to draw.
    """
    figure, all_axes = panels_on(len(panels), panel_size(len(panels), SIZE), columns)
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.series))
    named: list[tuple[Axes, list[Any]]] = []
    for axes, panel in zip(all_axes, panels, strict=True):
        drawn = [
            _draw(axes, line, labels.index(line.label))
            for line in panel.series
            if np.isfinite(line.y).any()
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
                (line.x[at], line.y[at], name, -place)
                for line in panel.series
                for place, (at, name) in enumerate(line.named.items())
            ],
        )
    name_lines(figure, title, named)
    return figure


def _draw(axes: Axes, line: Line, place: int) -> Any:
    """Draw a line with its band, and return matplotlib's line."""
    colour = colour_of(line.colour, place)
    if line.low is not None and line.high is not None:
        axes.fill_between(
            line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0, zorder=1
        )
    (drawn,) = axes.plot(
        line.x,
        line.y,
        color=colour,
        linestyle=(_DASHED if line.dashed else _WHOLE) if line.joined else "none",
        marker=marker_of(line.colour, place) if line.marked else "",
        markersize=4.6,
        markeredgecolor=PAPER,
        markeredgewidth=0.6,
        label=line.label,
    )
    if line.heads:
        drawn.set_gid(heads_id(axes, line.heads, place))
    return drawn
