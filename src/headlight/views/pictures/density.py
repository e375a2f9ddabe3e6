"""Points: densities, embeddings of heads, and sheets of several pictures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.frames import FrameCell, frame_cells, numeric_columns
from headlight.views.pictures.canvas import (
    blank,
    entitle,
    finish,
    heads_id,
    legend_beside,
    logarithms,
    panels_on,
    powers,
    text_width,
)
from headlight.views.pictures.theme import (
    FAINT,
    INK,
    LARGE,
    LINE,
    PAPER,
    PLAIN,
    QUIET,
    SMALL,
    Axes,
    Figure,
    colour_map,
    colour_of,
    marker_of,
    ordered_colours,
    picture,
    place_labels,
)
from headlight.views.provenance import shortened

SIZE = (3.6, 3.0)

_LEAST_WEIGHT, _CELLS = 1e-6, 60
"""Weight at the left of a picture of weights and lengths, and number of cells along each side."""


@dataclass(frozen=True, slots=True)
class DensityPanel:
    """Counts of pairs.

    Attributes:
        title: Over the panel.
        counts: [x, y].
        x_edges: [x + 1], the edges of the cells.
        y_edges: [y + 1].
        x_label: Of the horizontal axis.
        y_label: Of the vertical axis.
        scale: A ramp of the report.
        x_log: Whether the horizontal axis is logarithmic.
        y_log: Whether the vertical axis is logarithmic.
    """

    title: str
    counts: NDArray[Any]
    x_edges: NDArray[Any]
    y_edges: NDArray[Any]
    x_label: str = ""
    y_label: str = ""
    scale: str = "weight"
    x_log: bool = False
    y_log: bool = False

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.x_edges) - 1, len(self.y_edges) - 1):
            raise UsageError(
                f"the panel {self.title!r} has counts of shape {self.counts.shape} for "
                f"{len(self.x_edges)} and {len(self.y_edges)} edges; a side of n cells has n + 1."
            )

    @classmethod
    def of(
        cls,
        title: str,
        x: NDArray[Any],
        y: NDArray[Any],
        *,
        bins: int = 60,
        **settings: Any,
    ) -> "DensityPanel":
        """The panel of pairs ``x``, ``y``; ``settings`` are its other attributes.

        Pairs with NaN, or not positive where the axis is logarithmic, are left out.
        """
        x, y = (np.asarray(values, dtype=np.float64).ravel() for values in (x, y))
        logs = [bool(settings.get(f"{axis}_log")) for axis in "xy"]
        finite = np.isfinite(x) & np.isfinite(y)
        finite &= ~(logs[0] & (x <= 0)) & ~(logs[1] & (y <= 0))
        x_edges = _edges(x[finite], bins, log=logs[0])
        y_edges = _edges(y[finite], bins, log=logs[1])
        counts, _, _ = np.histogram2d(x[finite], y[finite], bins=[x_edges, y_edges])
        return cls(title, counts, x_edges, y_edges, **settings)


def weight_and_length(
    title: str, pairs: NDArray[Any], longest: float, *, scale: str = "weight"
) -> DensityPanel:
    """Counts of pairs of α, on a logarithmic axis, and ‖f(x)‖.

    Panels of the same `longest` have the same axes.  Weights below a millionth, which are rounded
    zeros and would take most of the room, count as a millionth.

    Args:
        title: Over the panel.
        pairs: [pair, (α, ‖f(x)‖)]; those of a weight of zero are left out.
        longest: ‖f(x)‖ at the upper end.
        scale: A ramp of the report.
    """
    drawn = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 0] > 0)]
    powers = np.geomspace(_LEAST_WEIGHT, 1, _CELLS + 1)
    lengths = np.linspace(0, 1.02 * longest or 1.0, _CELLS + 1)
    weights = np.clip(drawn[:, 0], _LEAST_WEIGHT, 1)
    counts, _, _ = np.histogram2d(weights, drawn[:, 1], bins=(powers, lengths))
    label = f"α (left edge: {powers[0]:.0e} and less)".replace("e-0", "e-")
    return DensityPanel(title, counts, powers, lengths, label, "‖f(x)‖", scale, x_log=True)


@picture
def density(
    panels: Sequence[DensityPanel],
    *,
    columns: int | None = None,
    title: str = "",
    counted: str = "pairs",
) -> Figure:
    """Panels of counts with one logarithmic scale of colours, of what is `counted`.

    Empty cells are white.  After Kobayashi et al. (2020), Figures 5 and 6; Brunner et al. (2020),
    Figure 1a.

    Raises:
        UsageError: There is nothing to draw.
    """
    from matplotlib.colors import LogNorm

    figure, all_axes = panels_on(len(panels), SIZE, columns)
    entitle(figure, title)
    most = max(float(np.max(panel.counts, initial=1.0)) for panel in panels)
    norm = LogNorm(0.5, max(most, 2.0))  # a single count has to be seen on white
    meshes = [_draw(axes, panel, norm) for axes, panel in zip(all_axes, panels, strict=True)]
    one_scale = len({panel.scale for panel in panels}) == 1
    bars = [(meshes[0], all_axes)] if one_scale else list(zip(meshes, all_axes, strict=True))
    for mesh, beside in bars:
        bar = figure.colorbar(mesh, ax=beside, shrink=0.8, aspect=26, pad=0.01, format=powers)
        bar.outline.set_visible(False)
        bar.ax.minorticks_off()
        bar.ax.set_ylabel(counted)
    return figure


def _draw(axes: Axes, panel: DensityPanel, norm: Any) -> Any:
    """The cells of a panel; one image, as they are many."""
    counts = np.ma.masked_less_equal(np.asarray(panel.counts, dtype=np.float64), 0)
    mesh = axes.pcolormesh(
        panel.x_edges,
        panel.y_edges,
        counts.T,
        cmap=colour_map(panel.scale),
        norm=norm,
        rasterized=True,
    )
    logarithms(axes, x=panel.x_log, y=panel.y_log)
    finish(axes, panel.title, panel.x_label, panel.y_label)
    return mesh


def _edges(values: NDArray[np.float64], bins: int, *, log: bool) -> NDArray[np.float64]:
    """The edges of ``bins`` cells from the smallest to the largest value."""
    if not values.size:
        return np.linspace(1.0, 10.0, bins + 1) if log else np.linspace(0.0, 1.0, bins + 1)
    low, high = float(values.min()), float(values.max())
    if log:
        return np.geomspace(low, high if high > low else low * 10, bins + 1)
    return np.linspace(low, high if high > low else low + 1.0, bins + 1)


EMBEDDING_SIZE = (5.6, 4.6)
_SQUARE = 3.9
"""Inches of the square that the points are in."""

_FAR = 0.1
"""Inches from which on a line joins a point and its label."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """One panel.

    Attributes:
        title: Over it.
        points: [point, 2]; a point with NaN is not drawn.
        groups: The group of each point.
        labels: For some points, by number, the words beside them.
        ordered: Whether groups are steps of one thing, such as layers; they are then coloured
            from dark to light, and otherwise as differently as possible.
        order: The groups as the legend lists them; as they come when empty.
        group_label: Over the legend.
        faint: A group, e.g. ``other``, that is grey and behind the others.
        note: Under the panel, e.g. the stress of the embedding.
        heads: The name of each point, if they are heads: a page tells which is pointed at.
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
        """The groups in their order, each once."""
        present = dict.fromkeys(self.groups)
        return [
            *(n for n in self.order if n in present),
            *(n for n in present if n not in self.order),
        ]


@picture
def embedding(panels: Sequence[Embedding], *, title: str = "") -> Figure:
    """Points of a plane in which only distances mean something, so that the axes have no ticks.

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
    """The lower left and the upper right corner of a square around all points."""
    finite = points[np.isfinite(points).all(axis=1)]
    if not len(finite):
        return np.zeros(2), np.ones(2)
    middle = (finite.min(axis=0) + finite.max(axis=0)) / 2
    half = 0.56 * (float((finite.max(axis=0) - finite.min(axis=0)).max()) or 1.0)
    return middle - half, middle + half


def _draw_groups(axes: Axes, panel: Embedding, points: NDArray[np.float64]) -> list[Any]:
    """The points of each group, named after it."""
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
    """Words beside points, with a thin line where they had to move away."""
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
    legend.get_title().set(fontsize=SMALL + 0.5, color=QUIET)


_ROW, _PAD, _MARGIN, _LONGEST = 0.235, 0.13, 0.12, 48


@picture
def table_picture(
    frame: pd.DataFrame,
    *,
    formats: Mapping[str, str] | None = None,
    highlight: Collection[tuple[int, str]] = (),
    title: str = "",
) -> Figure:
    """A table with thin rules, numbers flush right, highlighted cells bold on a tinted ground.

    Args:
        frame: Its first column names the rows; the index is not shown.
        formats: Column to Python format, as in ``Table``.
        highlight: Row number and column of the cells that stand out.
        title: Over the table.

    Raises:
        UsageError: The table has no columns, or a format or highlight does not fit it.
    """
    if not len(frame.columns):
        raise UsageError("a table needs at least one column; this one has none.")
    cells = frame_cells(frame, formats or {}, highlight)
    names = [shortened(str(name), _LONGEST) for name in frame.columns]
    right = numeric_columns(cells, len(names))
    widths = [_width(name, [row[c] for row in cells]) for c, name in enumerate(names)]
    top = _MARGIN + (0.3 if title else 0.0)
    bottom = top + _ROW * (len(cells) + 1)
    figure, axes = blank(sum(widths) + 2 * _MARGIN, bottom + _MARGIN)
    if title:
        name = shortened(title, _LONGEST)
        axes.text(_MARGIN + _PAD, _MARGIN + 0.1, name, size=LARGE, weight="bold", va="center")
    lefts = [_MARGIN + sum(widths[:column]) for column in range(len(names))]
    header = [FrameCell(name) for name in names]
    for row, line in enumerate([header, *cells]):
        y = top + _ROW * (row + 0.5)
        for cell, start, width, flush in zip(line, lefts, widths, right, strict=True):
            _draw_sheet(axes, cell, (start, y, width), flush_right=flush, head=row == 0)
    _rules(axes, (_MARGIN, _MARGIN + sum(widths)), [top, top + _ROW, bottom])
    return figure


def _width(name: str, column: Sequence[FrameCell]) -> float:
    """Inches of a column."""
    texts = [text_width(name, PLAIN, "bold")]
    texts += [
        text_width(shortened(cell.text, _LONGEST), PLAIN, "bold" if cell.strong else "normal")
        for cell in column
    ]
    return max(texts) + 2 * _PAD


def _draw_sheet(
    axes: Axes, cell: FrameCell, box: tuple[float, float, float], *, flush_right: bool, head: bool
) -> None:
    from matplotlib.patches import Rectangle

    start, y, width = box
    if cell.strong:
        axes.add_patch(Rectangle((start, y - _ROW / 2), width, _ROW, color=FAINT, linewidth=0))
    axes.text(
        start + width - _PAD if flush_right else start + _PAD,
        y + 0.043,  # the base line is that far below the middle of a row
        shortened(cell.text, _LONGEST),
        ha="right" if flush_right else "left",
        va="baseline",
        size=PLAIN,
        weight="bold" if cell.strong or head else "normal",
        color=QUIET if head else INK,
    )


def _rules(axes: Axes, ends: tuple[float, float], heights: Sequence[float]) -> None:
    """Thin lines over and under the header, and under the last row."""
    for y in heights:
        axes.plot(ends, (y, y), color=LINE, linewidth=0.9, solid_capstyle="butt")
