"""Values by layer: a dot for each head, and a line through the means of layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.findings import average
from headlight.views.number_formats import Number
from headlight.views.pictures.axes import Reference, free_shares, refer_to, share_range, values_up
from headlight.views.pictures.label_placing import STANDS_OUT, name_points
from headlight.views.pictures.legends import name_lines
from headlight.views.pictures.panels import finish, heads_id, panel_size, panels_on
from headlight.views.pictures.theme import (
    PAPER,
    Axes,
    Figure,
    colour_of,
    components_of,
    marker_of,
    picture,
)
from headlight.vocabulary import head_name

SIZE = (3.75, 2.75)


@dataclass(frozen=True, slots=True)
class LayerSeries:
    """Line of a panel.

    Attributes:
        label: Label in the legend; series of the same label share a colour.
        values: Values, [layer, head], or [layer] where there are no heads.
        colour: Name in the palette, ``#rrggbb``, or empty.
    """

    label: str
    values: NDArray[Any]
    colour: str = ""

    @property
    def heads(self) -> NDArray[np.float64]:
        """Values as [layer, head]; without heads, as those of one head."""
        values = np.asarray(self.values, dtype=np.float64)
        return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True, slots=True)
class LayerPanel:
    """Panel of series over layers.

    Attributes:
        title: Title over the panel.
        series: Lines of the panel.
        y_label: Label of the vertical axis.
        percent: Whether values are shares, shown as percentages.
        limits: Limits of the vertical axis; from the values when None.
        references: Dashed lines, e.g. uniform attention.
        first_layer: Number of the first layer; 1 only where a paper's own numbering is shown.
        named: Whether the heads that are far from the others of their layer are named.
    """

    title: str
    series: Sequence[LayerSeries]
    y_label: str = ""
    percent: bool = False
    limits: tuple[Number, Number] | None = None
    references: Sequence[Reference] = ()
    first_layer: int = 0
    named: bool = False


@picture
def points_by_layer(
    panels: Sequence[LayerPanel], *, columns: int | None = None, title: str = ""
) -> Figure:
    """Draw panels of values by layer, a dot per head and a line through the layer means.

    After Clark et al. (2019), Figures 2 to 4; Kobayashi et al. (2020), Figure 3; Brunner et al.
    (2020), Figure 1. Series of one label have one colour in all panels.
    """
    figure, all_axes = panels_on(len(panels), panel_size(len(panels), SIZE), columns)
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    looks = components_of(
        [(series.label, series.colour) for panel in panels for series in panel.series]
    )
    named: list[tuple[Axes, list[Any]]] = []
    for axes, panel in zip(all_axes, panels, strict=True):
        with_heads = [series for series in panel.series if np.isfinite(series.heads).any()]
        drawn = [
            _draw(
                axes,
                series,
                panel,
                _lane(lane, len(with_heads)),
                (labels.index(series.label), looks.get(series.label, 0)),
            )
            for lane, series in enumerate(with_heads)
        ]
        refer_to(axes, panel.references)
        _layers(axes, panel)
        values_up(axes, percent=panel.percent, limits=panel.limits)
        finish(axes, panel.title, "layer", panel.y_label)
        named.append((axes, drawn))
    share_range(free_shares(all_axes, panels))
    for axes, panel in zip(all_axes, panels, strict=True):
        if panel.named:
            _name_heads(axes, panel)
    name_lines(figure, title, named)
    return figure


def _lane(index: int, lanes: int) -> float:
    # Dots of several series stand beside each other, so that none hides another.
    return (index - (lanes - 1) / 2) * min(0.16, 0.7 / lanes)


def _draw(
    axes: Axes, series: LayerSeries, panel: LayerPanel, lane: float, places: tuple[int, int]
) -> Any:
    """Draw the dots and the line of a series by its place and its look, and return the line."""
    place, look = places
    values, colour = series.heads, colour_of(series.colour, look)
    layers = np.arange(len(values)) + panel.first_layer
    if values.shape[1] > 1:
        layer, head = np.nonzero(np.isfinite(values))
        (dots,) = axes.plot(
            layers[layer] + lane,
            values[layer, head],
            linestyle="none",
            marker="o",
            markersize=3.4 if values.size <= 300 else 2.2,
            markeredgewidth=0,
            color=colour,
            alpha=0.36,
            clip_on=False,  # dots at the edge, such as 0%, would be cut in half
            zorder=2,
        )
        if panel.named:
            names = map(head_name, layers[layer].tolist(), head.tolist())
            dots.set_gid(heads_id(axes, names, place))
    means = average(values, axis=1)
    finite = np.isfinite(means)
    (line,) = axes.plot(
        layers[finite],
        means[finite],
        color=colour,
        marker=marker_of(series.colour, look),
        markersize=4.6,
        markeredgecolor=PAPER,
        markeredgewidth=0.6,
        label=series.label,
        clip_on=False,
        zorder=3,
    )
    return line


def _name_heads(axes: Axes, panel: LayerPanel) -> None:
    """Write the names of the heads that stand out, where there is room."""
    low, high = map(float, axes.get_ylim())
    with_heads = [series.heads for series in panel.series if np.isfinite(series.heads).any()]
    named = []
    for place, values in enumerate(with_heads):
        # Of a layer without any value, the median would warn.
        filled = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, 0)
        apart = np.abs(values - np.nanmedian(filled, axis=1, keepdims=True)) / (high - low)
        for row, head in np.argwhere(apart > STANDS_OUT).tolist():
            layer = row + panel.first_layer
            across = layer + _lane(place, len(with_heads))
            name, far = head_name(layer, head), float(apart[row, head])
            named.append((across, float(values[row, head]), name, far))
    name_points(axes, named)


def _layers(axes: Axes, panel: LayerPanel) -> None:
    """Set a tick for each layer, or for every few of them."""
    count = max((len(series.heads) for series in panel.series), default=1)
    step = max(1, -(-count // 16))
    axes.set_xticks(np.arange(0, count, step) + panel.first_layer)
    axes.set_xlim(panel.first_layer - 0.55, panel.first_layer + count - 0.45)
