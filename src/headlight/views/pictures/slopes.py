"""Slopes: values of heads that change from measure to measure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headlight.views.pictures.axes import share_range, values_up
from headlight.views.pictures.label_placing import spread
from headlight.views.pictures.panels import entitle, finish, heads_id, panels_on
from headlight.views.pictures.theme import INK, SMALL, Axes, Figure, colour_of, picture

SLOPES_SIZE = (3.75, 2.95)
_NAMED, _LINE = 5, 0.06
"""Heads that are named in a panel, and the share of its height that a name needs."""


@dataclass(frozen=True, slots=True)
class SlopePanel:
    """Panel of values that change from measure to measure.

    Attributes:
        title: Title over the panel.
        values: Shares, [measure, head]; NaN is not drawn.
        heads: Names of the heads.
        change: Change of value above which a head is named.
        colour: Name in the palette, or ``#rrggbb``.
    """

    title: str
    values: NDArray[np.float64]
    heads: Sequence[str]
    change: float = 0.1
    colour: str = ""


@picture
def slopes(measures: Sequence[str], panels: Sequence[SlopePanel]) -> Figure:
    """Draw panels of one vertical range, with heads as thin lines and their mean as a thick line.

    The heads that change most are named where they begin.

    Args:
        measures: Labels of the horizontal axis.
        panels: Panels from the left.

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
        clip_on=False,  # dots at the edge, such as 0%, would be cut in half
        zorder=2,
    )
    dots.set_gid(heads_id(axes, [panel.heads[n] for n in head.tolist()]))
    finite = np.isfinite(panel.values)
    means = np.where(finite, panel.values, 0).sum(1) / np.maximum(finite.sum(1), 1)
    axes.plot(at, means, color=colour, linewidth=2.4, label="mean", clip_on=False, zorder=3)


def _name(axes: Axes, panel: SlopePanel) -> None:
    """Write the names of the heads that change most, at the left of their lines."""
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
