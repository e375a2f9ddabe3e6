"""Legends, and names at the ends of lines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.views.pictures.label_placing import spread, text_width
from headlight.views.pictures.panels import entitle, panels_across
from headlight.views.pictures.theme import INK, LARGE, PLAIN, SMALL, Axes, Figure, readable
from headlight.views.titles import shortened

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
    same = len(names[0]) > 1 and all(set(panel_names) == set(names[0]) for panel_names in names)
    points = any(line.get_linestyle() == "None" for _, drawn in panels for line in drawn)
    if same and (len(panels) > 1 or points):
        legend_above(figure, panels[0][1], title)
        return
    entitle(figure, title)
    for axes, drawn in panels:
        if len(drawn) > _AT_ENDS:
            settings = {"ncols": 2, "labelspacing": 0.2, "fontsize": SMALL}
            legend_of(axes, drawn, **settings)
        elif len(drawn) > 1:
            _name_at_ends(axes, drawn)


def legend_above(figure: Figure, handles: Sequence[Any], title: str = "") -> None:
    """Draw one legend over the first column of panels, which a narrow screen shows first."""
    if len(handles) < 2:
        entitle(figure, title)
        return
    names = [shortened(str(handle.get_label()), _LONGEST) for handle in handles]
    widths = [0.55 + text_width(name, PLAIN) for name in names]
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
    """Draw a legend of handles by their labels, cut where they are long."""
    names = [shortened(str(handle.get_label()), _LONGEST) for handle in handles]
    return owner.legend(list(handles), names, labelcolor=INK, **settings)


def legend_beside(axes: Axes, handles: Sequence[Any], title: str, **settings: Any) -> Any:
    """Draw a legend to the right of the axes, in as many columns as it needs."""
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
    """Write the names of lines at their right ends, moved apart where the ends are close."""
    ends = [_end(line) for line in drawn]
    # Limits are set lazily: without this, heights would be those in empty axes.
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
            size=PLAIN,
            annotation_clip=False,  # names stand outside the axes
        )


def _end(line: Any) -> tuple[float, float]:
    points = np.asarray(line.get_xydata(), dtype=np.float64)
    points = points[np.isfinite(points).all(axis=1)]
    return float(points[-1, 0]), float(points[-1, 1])
