"""Dendrograms: trees whose leaves are heads."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.legends import legend_beside
from headlight.views.pictures.panels import WIDEST, entitle
from headlight.views.pictures.theme import (
    INK,
    QUIET,
    SMALL,
    Axes,
    Figure,
    colour_of,
    ordered_colours,
    picture,
)
from headlight.views.titles import shortened

_HEIGHT, _MOST_LABELS = 4.2, 160
_ACROSS, _LINE = 9.8, 1.1
"""Inches of the leaves of a wide tree, and points of a line for each point of its letters."""


@picture
def dendrogram(
    linkage: NDArray[Any],
    labels: Sequence[str],
    groups: Sequence[str] | None = None,
    *,
    ordered: bool = True,
    group_label: str = "layer",
    y_label: str = "distance",
    title: str = "",
) -> Figure:
    """Draw a tree whose leaves are heads; two clusters join at the height of their distance.

    Args:
        linkage: Merges, [merge, 4], as scipy writes them: two clusters, their distance, their size.
        labels: Labels of the leaves.
        groups: Groups of the leaves, e.g. layers; shown as coloured marks with a legend.
        ordered: Whether groups have an order, and are coloured from dark to light.
        group_label: Title of the legend of groups.
        y_label: Label of the axis of distances.
        title: Title over the tree.

    Raises:
        UsageError: There is not one label, or one group, for each leaf.
    """
    from matplotlib.figure import Figure as Sheet
    from scipy.cluster import hierarchy

    leaves = len(linkage) + 1
    if len(labels) != leaves or (groups is not None and len(groups) != leaves):
        raise UsageError(
            f"the tree has {leaves} leaves, but {len(labels)} labels"
            + (f" and {len(groups)} groups" if groups is not None else "")
            + "; each leaf needs one."
        )
    figure = Sheet(figsize=(min(WIDEST, 2.2 + 0.16 * leaves), _HEIGHT), layout="constrained")
    axes = figure.subplots()
    tree = hierarchy.dendrogram(linkage, no_plot=True)
    for across, up in zip(tree["icoord"], tree["dcoord"], strict=True):
        # scipy puts the leaves at 5, 15, 25, …
        places = (np.array(across) - 5) / 10
        axes.plot(places, up, color=QUIET, linewidth=0.9, solid_joinstyle="miter")
    top = float(np.nanmax(linkage[:, 2], initial=0.0)) or 1.0
    axes.set(xlim=(-0.8, leaves - 0.2), ylim=(-0.045 * top, 1.04 * top))
    axes.spines["bottom"].set_visible(False)
    axes.set_ylabel(shortened(y_label, 44))
    _draw_leaves(axes, tree["leaves"], labels)
    if groups is not None:
        handles = _draw_groups(axes, tree["leaves"], groups, top, ordered=ordered)
        _legend(axes, handles, group_label)
    entitle(figure, title)
    return figure


def _draw_leaves(axes: Axes, order: Sequence[int], labels: Sequence[str]) -> None:
    """Write the names of the leaves, in several rows when they are many, none when too many."""
    many = len(order) > _MOST_LABELS
    names = ["" if many else shortened(labels[leaf], 20) for leaf in order]
    axes.set_xticks(range(len(order)), names, rotation=90, fontsize=SMALL, color=INK)
    axes.tick_params(axis="x", length=0, pad=2)
    rows = math.ceil(_LINE * SMALL * len(order) / (72 * _ACROSS))
    long = 72 * max(text_width(name, SMALL) for name in names)
    for place, tick in enumerate(axes.xaxis.get_major_ticks()):
        tick.set_pad(2 + (place % rows) * (long + 3))


def _draw_groups(
    axes: Axes, order: Sequence[int], groups: Sequence[str], top: float, *, ordered: bool
) -> list[Any]:
    """Draw a coloured mark under each leaf."""
    handles = []
    names = list(dict.fromkeys(groups))
    colours = (
        ordered_colours(len(names)) if ordered else [colour_of("", i) for i in range(len(names))]
    )
    for name, colour in zip(names, colours, strict=True):
        places = [place for place, leaf in enumerate(order) if groups[leaf] == name]
        handles += axes.plot(
            places,
            [-0.022 * top] * len(places),
            linestyle="none",
            marker="s",
            markersize=4,
            markeredgewidth=0,
            color=colour,
            label=name,
        )
    return handles


def _legend(axes: Axes, handles: Sequence[Any], title: str) -> None:
    legend = legend_beside(axes, handles, title, labelspacing=0.3, borderaxespad=0.2)
    legend.get_title().set_color(QUIET)
