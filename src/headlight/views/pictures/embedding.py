"""Embeddings of heads in a plane, such as those of multidimensional scaling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.pictures.label_placing import place_labels, text_width
from headlight.views.pictures.legends import legend_beside
from headlight.views.pictures.panels import entitle, finish, heads_id, panels_on
from headlight.views.pictures.theme import (
    INK,
    LINE,
    PAPER,
    PLAIN,
    QUIET,
    SMALL,
    Axes,
    Figure,
    colour_of,
    marker_of,
    ordered_colours,
    picture,
)
from headlight.views.titles import shortened

EMBEDDING_SIZE = (5.6, 4.6)
_SQUARE = 3.9
"""Inches of the square that the points are in."""

_FAR = 0.1
"""Inches from which on a line joins a point and its label."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """Panel of an embedding.

    Attributes:
        title: Title over the panel.
        points: Points, [point, 2]; those with NaN are not drawn.
        groups: Groups of the points.
        labels: Words beside some points, by number of the point.
        ordered: Whether groups are steps of a sequence, such as layers; they are then coloured
            from dark to light, and otherwise as differently as possible.
        order: Groups in the order of the legend; as they come when empty.
        group_label: Title of the legend.
        faint: Group, e.g. ``other``, that is grey and behind the others.
        note: Note under the panel, e.g. the stress of the embedding.
        heads: Names of the points, if they are heads: a page tells which is pointed at.
    """

    title: str
    points: NDArray[Any]
    groups: Sequence[str]
    labels: Mapping[int, str] = field(default_factory=dict)
    ordered: bool = False
    order: Sequence[str] = ()
    group_label: str = ""
    faint: str = "other"
    note: str = ""
    heads: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.points.shape != (len(self.groups), 2):
            raise UsageError(
                f"the embedding {self.title!r} has points of shape {self.points.shape} for "
                f"{len(self.groups)} groups; it needs two numbers and a group for each point."
            )

    @property
    def names(self) -> list[str]:
        """Distinct groups in their order."""
        present = dict.fromkeys(self.groups)
        return [
            *(n for n in self.order if n in present),
            *(n for n in present if n not in self.order),
        ]


@picture
def embedding(panels: Sequence[Embedding], *, title: str = "") -> Figure:
    """Draw points of a plane whose distances alone are meaningful, so that the axes have no ticks.

    After Clark et al. (2019), Figure 6.

    Raises:
        UsageError: There is nothing to draw.
    """
    figure, all_axes = panels_on(len(panels), EMBEDDING_SIZE)
    entitle(figure, title)
    for axes, panel in zip(all_axes, panels, strict=True):
        points = np.asarray(panel.points, dtype=np.float64)
        low, high = _square(points)
        axes.set(
            xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[]
        )
        handles = _draw_groups(axes, panel, points)
        _draw_labels(axes, panel, points, (low, high))
        axes.spines[["top", "right"]].set_visible(True)
        finish(axes, panel.title, "", "")
        axes.set_xlabel(shortened(panel.note, 72), size=SMALL)
        if len(handles) > 1:
            _legend(axes, panel, handles)
    return figure


def _square(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower left and the upper right corner of a square around all points."""
    finite = points[np.isfinite(points).all(axis=1)]
    if not len(finite):
        return np.zeros(2), np.ones(2)
    middle = (finite.min(axis=0) + finite.max(axis=0)) / 2
    half = 0.56 * (float((finite.max(axis=0) - finite.min(axis=0)).max()) or 1.0)
    return middle - half, middle + half


def _draw_groups(axes: Axes, panel: Embedding, points: NDArray[np.float64]) -> list[Any]:
    """Draw the points of each group, named after it."""
    handles = []
    names = panel.names
    ramp = ordered_colours(len(names)) if panel.ordered else None
    groups = np.array(panel.groups, dtype=object)
    distinct = [name for name in names if name != panel.faint]
    for place, name in enumerate(names):
        faint = ramp is None and name == panel.faint
        index = distinct.index(name) if name in distinct else 0
        chosen = np.flatnonzero((groups == name) & np.isfinite(points).all(axis=1))
        handles += axes.plot(
            *points[chosen].T,
            linestyle="none",
            marker="o" if ramp or faint else marker_of("", index),
            markersize=4.2 if faint else 5.6,
            markeredgecolor=PAPER,
            markeredgewidth=0.5,
            color=ramp[place] if ramp else (LINE if faint else colour_of("", index)),
            zorder=2 if faint else 3,
            label=name,
        )
        if panel.heads:
            handles[-1].set_gid(heads_id(axes, [panel.heads[at] for at in chosen.tolist()], place))
    return handles


def _draw_labels(
    axes: Axes,
    panel: Embedding,
    points: NDArray[np.float64],
    square: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Write words beside points, with a thin line where they had to move away."""
    low, high = square
    scale = _SQUARE / (high - low)
    labelled = [
        index
        for index, label in sorted(panel.labels.items())
        if label and np.isfinite(points[index]).all()
    ]
    words = [shortened(panel.labels[i], 28) for i in labelled]
    if not words:
        return
    sizes = np.array([[text_width(word, SMALL), 0.125] for word in words])
    inches = (points[np.isfinite(points).all(axis=1)] - low) * scale
    anchors = (points[labelled] - low) * scale
    centres = place_labels(anchors, sizes, inches, (_SQUARE, _SQUARE))
    for word, anchor, centre, size in zip(words, anchors, centres, sizes, strict=True):
        # The point of the label's box that is nearest to the anchor.
        edge = np.clip(anchor, centre - size / 2 - 0.02, centre + size / 2 + 0.02)
        if np.hypot(*(edge - anchor)) > _FAR:
            line = np.array([anchor, edge]) / scale + low
            axes.plot(*line.T, color=QUIET, linewidth=0.6, zorder=2.5)
        x, y = centre / scale + low
        text = axes.text(x, y, word, size=SMALL, ha="center", va="center", color=INK, zorder=4)
        text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.5})


def _legend(axes: Axes, panel: Embedding, handles: Sequence[Any]) -> None:
    title = panel.group_label
    legend = legend_beside(axes, handles, title, borderaxespad=0.3, labelspacing=0.35)
    legend.get_title().set(fontsize=PLAIN, color=QUIET)
