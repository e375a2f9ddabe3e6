"""Densities of pairs of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.pictures.axes import logarithms, powers
from headlight.views.pictures.panels import entitle, finish, panels_on
from headlight.views.pictures.theme import Axes, Figure, colour_map, picture

SIZE = (3.6, 3.0)

_LEAST_WEIGHT, _CELLS = 1e-6, 60
"""Weight at the left of a picture of weights and lengths, and number of cells along each side."""


@dataclass(frozen=True, slots=True)
class DensityPanel:
    """Panel of counts of pairs.

    Attributes:
        title: Title over the panel.
        counts: Counts, [x, y].
        x_edges: Edges of the cells, [x + 1].
        y_edges: Edges of the cells, [y + 1].
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        scale: Ramp of colours of the report.
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
    def from_pairs(
        cls,
        title: str,
        x: NDArray[Any],
        y: NDArray[Any],
        *,
        bins: int = 60,
        **settings: Any,
    ) -> "DensityPanel":
        """Return the panel of pairs ``x``, ``y``; ``settings`` are its other attributes.

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
    """Count pairs of α, on a logarithmic axis, and ‖f(x)‖.

    Panels of the same `longest` have the same axes.  Weights below a millionth, which are rounded
    zeros and would take most of the room, count as a millionth.

    Args:
        title: Title over the panel.
        pairs: Pairs, [pair, (α, ‖f(x)‖)]; those with a weight of zero are left out.
        longest: Value of ‖f(x)‖ at the upper end.
        scale: Ramp of colours of the report.
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
    """Draw panels of counts with one logarithmic scale of colours, labelled `counted`.

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
    """Draw the cells of a panel."""
    counts = np.ma.masked_less_equal(np.asarray(panel.counts, dtype=np.float64), 0)
    mesh = axes.pcolormesh(
        panel.x_edges,
        panel.y_edges,
        counts.T,
        cmap=colour_map(panel.scale),
        norm=norm,
        rasterized=True,  # as shapes, thousands of cells make a large SVG
    )
    logarithms(axes, x=panel.x_log, y=panel.y_log)
    finish(axes, panel.title, panel.x_label, panel.y_label)
    return mesh


def _edges(values: NDArray[np.float64], bins: int, *, log: bool) -> NDArray[np.float64]:
    """Return the edges of ``bins`` cells from the smallest to the largest value."""
    if not values.size:
        return np.linspace(1.0, 10.0, bins + 1) if log else np.linspace(0.0, 1.0, bins + 1)
    low, high = float(values.min()), float(values.max())
    if log:
        return np.geomspace(low, high if high > low else low * 10, bins + 1)
    return np.linspace(low, high if high > low else low + 1.0, bins + 1)
