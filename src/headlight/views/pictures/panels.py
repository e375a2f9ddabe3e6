"""Panels of a picture: their sizes, their places and their titles."""

import math
from collections.abc import Iterable, Sequence

from headlight.errors import UsageError
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.theme import LARGE, PLAIN, Axes, Figure
from headlight.views.titles import shortened

BARS = "bars"
"""The id of figures of bars, whose height says how many there are."""

WIDEST = 11.5
"""Inches; a picture is as wide as the column of a page."""

LONG_TITLE, TITLE, NAME = 110, 44, 36
"""Columns of words that are shown: longer ones would leave no room for what they stand beside."""


def panel_size(count: int, size: tuple[float, float]) -> tuple[float, float]:
    """Return the size of a panel of curves or boxes in inches, larger where it stands alone."""
    return (1.5 * size[0], 1.15 * size[1]) if count == 1 else size


def panels_on(
    count: int, size: tuple[float, float], columns: int | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``count`` axes of about the same size in inches, in rows.

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
    # Without pyplot, which keeps every figure until it is closed.
    figure = Sheet(figsize=(size[0] * across, size[1] * down), layout=layout)
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def stand_side_by_side(figure: Figure, starts: Sequence[float]) -> None:
    """Note the left edges of panels side by side on one sheet, in inches from the left."""
    figure.set_label(" ".join(f"{start:.4f}" for start in starts))  # nobody sees it


def panel_starts(figure: Figure) -> list[float]:
    """Return the left edges of panels that stand side by side on one sheet; empty if not noted."""
    return [float(start) for start in str(figure.get_label()).split()]


def panels_across(figure: Figure) -> int:
    """Return the number of panels side by side."""
    if starts := panel_starts(figure):
        return len(starts)
    grids = [axes.get_subplotspec() for axes in figure.axes[:1]]
    return max((grid.get_gridspec().ncols for grid in grids if grid is not None), default=1)


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty sheet whose coordinates are inches from the upper left corner."""
    from matplotlib.figure import Figure as Sheet

    figure = Sheet(figsize=(width, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, width), ylim=(height, 0.0))
    axes.set_axis_off()
    return figure, axes


def entitle(figure: Figure, title: str) -> None:
    """Write a title over all panels, at the left."""
    if title:
        figure.suptitle(
            shortened(title, LONG_TITLE), x=0.01, ha="left", fontsize=LARGE, fontweight="bold"
        )


def wrapped(title: str, room: float) -> str:
    """Break the title of a panel between words where it is wider than the room in inches."""
    lines: list[str] = []
    for word in shortened(title, TITLE).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, PLAIN + 0.5, "bold") <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def finish(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Write the title, which may have several lines, and the names of the axes of a panel."""
    axes.set_title("\n".join(shortened(line, TITLE) for line in title.split("\n")), pad=7)
    axes.set_xlabel(shortened(x_label, NAME))
    axes.set_ylabel(shortened(y_label, NAME))


PREFIX = "heads"


def heads_id(axes: Axes, names: Iterable[str], place: int = 0) -> str:
    """Return the id of shapes of an SVG that stand for heads, which names these in their order.

    Args:
        axes: Axes of the shapes.
        names: Names of the heads; empty where a shape stands for none.
        place: Number of the id among several in the same axes.
    """
    return ".".join([f"{PREFIX}-{axes.figure.axes.index(axes)}-{place}", *names])
