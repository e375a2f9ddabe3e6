"""Box plots: medians, quartiles and whiskers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.views.number_formats import Number
from headlight.views.pictures.axes import Reference, refer_to, values_up
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.legends import legend_above
from headlight.views.pictures.panels import WIDEST, finish, panel_size, panels_on
from headlight.views.pictures.theme import INK, SMALL, Axes, Figure, colour_of, picture
from headlight.views.titles import shortened

SHADE = 0.35
"""Opacity of the colour of a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """Box of five numbers: the ends of the whiskers, the quartiles and the median.

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
    def from_values(cls, label: str, values: NDArray[Any], colour: str = "") -> "Box":
        """Return the box of values, whose whiskers end at the 5th and the 95th percentile."""
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        if not finite.size:
            return cls(label, nan, nan, nan, nan, nan, colour)
        low, first, median, third, high = map(float, np.percentile(finite, [5, 25, 50, 75, 95]))
        return cls(label, low, first, median, third, high, colour)

    @property
    def seen(self) -> bool:
        """Whether all five are finite."""
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
    """Draw panels of boxes; the line in a box is the median, and whiskers end where the box says.

    After Brunner et al. (2020), Figures 3 and 26 to 37. The names in `colours` stand in a legend.

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
        solid_capstyle="butt",  # the default cap stands out of the box
        zorder=3,
    )


def _names(axes: Axes, panel: BoxPanel, width: float) -> None:
    """Write the labels of the boxes, upright where they do not fit side by side."""
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
