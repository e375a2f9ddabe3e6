"""Pictures written to files; trees and routes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.files import write
from headlight.findings.piece_text import Link, Ways, parked, pieces_of, ways_to
from headlight.views.colour import isolated, series_styles
from headlight.views.pictures.canvas import (
    BARS,
    WIDEST,
    blank,
    entitle,
    legend_beside,
    panel_starts,
    panels_across,
)
from headlight.views.pictures.theme import (
    FONT,
    INK,
    QUIET,
    SMALL,
    Axes,
    Figure,
    colour_of,
    ordered_colours,
    picture,
    styled,
)
from headlight.views.provenance import shortened
from headlight.vocabulary import head_name

DOTS_PER_INCH = 150
_MARGIN = 0.06

# No date, no version of matplotlib: nothing that changes from one day to the next.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

# Verdana has the widths of DejaVu Sans, and is there where that is not.
_FONTS = f"'{FONT}', Verdana, sans-serif"
_QUOTED = re.compile("“([^”<]*)”")
_TAG = re.compile(r"<[^>]*>")
# Markers of one style in a group: `<g ...>`, then `<use ... style="..."/>` each.
_ALIKE = re.compile(
    r'<g([^<>]*)>\s*(<use [^<>]*?( style="[^"]*")/>(?:\s*<use [^<>]*?\3/>)+)\s*</g>'
)
_MARKER = re.compile(r"<use [^<>]*>")
_NAME = re.compile(r'(?<=["#])m[0-9a-f]{10}(?=")')
_LONG_NUMBER = re.compile(r"(-?\d+\.\d\d)\d+")


@styled
def svg_text(figure: Figure, crop: Any = None) -> str:
    """The figure as an SVG document, with its texts as texts.

    A text is set by the browser, which has glyphs for scripts that the font lacks, and takes a
    fraction of the room of its outlines.

    Args:
        figure: what to write.
        crop: the part of it in inches, matplotlib's ``Bbox``; all that is drawn when None.
    """
    buffer, crop = BytesIO(), crop or _crop(figure)
    figure.savefig(buffer, format="svg", metadata=_METADATA[".svg"], bbox_inches=crop)
    text = _ALIKE.sub(_hoisted, _TAG.sub(_tidied, buffer.getvalue().decode("utf-8")))
    text = _QUOTED.sub(lambda quoted: f"“{isolated(quoted[1])}”", text)
    names: dict[str, str] = {}
    text = _NAME.sub(lambda name: names.setdefault(name.group(), f"m{len(names)}"), text)
    columns = " ".join(f"{start:.2f}" for start in _columns(figure, crop))
    about = f'data-panels="{panels_across(figure)}" data-columns="{columns}"'
    about += ' data-bars=""' * (figure.get_gid() == BARS)
    return text.replace("<svg ", f"<svg {about} ", 1)


def _columns(figure: Figure, crop: Any) -> list[float]:
    """Return the left edge of each column of panels, in percent of the width of the file."""
    if starts := panel_starts(figure):
        return [0.0] + [100 * (start - crop.x0) / crop.width for start in starts[1:]]
    lefts: dict[int, float] = {}  # of all that belongs to a column, in inches
    for axes in figure.axes:
        spec, box = axes.get_subplotspec(), axes.get_tightbbox()
        if spec is not None and box is not None:
            column = spec.colspan.start
            edge = float(box.x0) / figure.dpi - _MARGIN
            lefts[column] = min(edge, lefts.get(column, edge))
    return [0.0] + [100 * (lefts[at] - crop.x0) / crop.width for at in sorted(lefts)[1:]]


@styled
def save_picture(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as ``name.svg`` and ``name.png`` into a folder that exists.

    Each file appears whole or not at all.

    Returns:
        Both files.

    Raises:
        ResultError: A file cannot be written.
    """
    crop = _crop(figure)
    paths = [folder / f"{name}{suffix}" for suffix in (".svg", ".png")]
    contents = [_content(figure, path.suffix, crop) for path in paths]
    for path, content in zip(paths, contents, strict=True):
        write(path, content)
    return paths


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that shows itself in a notebook, and can be saved.

    Attributes:
        figure: of matplotlib, which can be changed before it is saved.
    """

    figure: Figure

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix says how: ``.png``, ``.svg`` or ``.pdf``.

        The same picture gives the same bytes, and the file appears whole or not at all.

        Returns:
            The path.

        Raises:
            UsageError: another suffix.
            ResultError: the file cannot be written.
        """
        path = Path(path)
        if path.suffix not in _METADATA:
            raise UsageError(
                f"{path}: a picture is saved as {', '.join(_METADATA)}; choose one of these."
            )
        write(path, _content(self.figure, path.suffix))
        return path

    def _repr_svg_(self) -> str:
        return svg_text(self.figure)


@styled
def _content(figure: Figure, suffix: str, crop: Any = None) -> bytes:
    """The file of a figure."""
    crop = crop or _crop(figure)
    if suffix == ".svg":
        return svg_text(figure, crop).encode()
    buffer = BytesIO()
    about = _METADATA[suffix]
    figure.savefig(buffer, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=about, bbox_inches=crop)
    return buffer.getvalue()


def _crop(figure: Figure) -> Any:
    """All that is drawn with a margin, in inches.

    Matplotlib's own "tight" would draw the figure once more for each file.
    """
    return figure.get_tightbbox().padded(_MARGIN)


def _tidied(tag: re.Match[str]) -> str:
    """A tag with coordinates of two decimals, which is a fiftieth of a pixel, and spare fonts."""
    return _LONG_NUMBER.sub(r"\1", tag.group()).replace(f"'{FONT}'", _FONTS)


def _hoisted(group: re.Match[str]) -> str:
    """A group whose markers have their style from it: there are thousands of them in a picture."""
    about, markers, style = group.groups()
    return f"<g{about}{style}>{''.join(_MARKER.findall(markers.replace(style, '')))}</g>"


_HEIGHT, _MOST_LABELS = 4.2, 160


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
    """A tree whose leaves are heads; two clusters join at the height of their distance.

    Args:
        linkage: [merge, 4], as scipy writes it: two clusters, their distance, their size.
        labels: Of the leaves.
        groups: Of the leaves, e.g. their layers; shown as coloured marks with a legend.
        ordered: Whether groups have an order, and are coloured from dark to light.
        group_label: What the groups are.
        y_label: What the distance is.
        title: Over the tree.

    Raises:
        UsageError: There is not one label, or one group, for each leaf.
    """
    from matplotlib.figure import Figure as Sheet

    leaves = len(linkage) + 1
    if len(labels) != leaves or (groups is not None and len(groups) != leaves):
        raise UsageError(
            f"the tree has {leaves} leaves, but {len(labels)} labels"
            + (f" and {len(groups)} groups" if groups is not None else "")
            + "; each leaf needs one."
        )
    figure = Sheet(figsize=(min(WIDEST, 2.2 + 0.16 * leaves), _HEIGHT), layout="constrained")
    axes = figure.subplots()
    order = leaf_order(linkage)
    for across, up in brackets(linkage, order):
        axes.plot(across, up, color=QUIET, linewidth=0.9, solid_joinstyle="miter")
    top = float(np.nanmax(linkage[:, 2], initial=0.0)) or 1.0
    axes.set(xlim=(-0.8, leaves - 0.2), ylim=(-0.045 * top, 1.04 * top))
    axes.spines["bottom"].set_visible(False)
    axes.set_ylabel(shortened(y_label, 44))
    _draw_leaves(axes, order, labels)
    if groups is not None:
        handles = _draw_groups(axes, order, groups, top, ordered=ordered)
        _legend(axes, handles, group_label)
    entitle(figure, title)
    return figure


def leaf_order(linkage: NDArray[Any]) -> list[int]:
    """The leaves from left to right, so that no two lines of the tree cross."""
    leaves = len(linkage) + 1
    order, waiting = [], [2 * leaves - 2]
    while waiting:
        cluster = waiting.pop()
        if cluster < leaves:
            order.append(cluster)
        else:
            left, right = (int(child) for child in linkage[cluster - leaves, :2])
            waiting += [right, left]
    return order


def brackets(linkage: NDArray[Any], order: Sequence[int]) -> list[tuple[list[float], list[float]]]:
    """For each merge the four corners of its bracket: places across, and heights."""
    leaves = len(order)
    place = np.zeros(2 * leaves - 1)
    height = np.zeros(2 * leaves - 1)
    place[list(order)] = np.arange(leaves)
    corners = []
    for merge, (one, other, distance, _) in enumerate(linkage):
        left, right = int(one), int(other)
        place[leaves + merge] = (place[left] + place[right]) / 2
        height[leaves + merge] = distance
        corners.append(
            (
                [float(place[c]) for c in (left, left, right, right)],
                [float(height[left]), float(distance), float(distance), float(height[right])],
            )
        )
    return corners


def _draw_leaves(axes: Axes, order: Sequence[int], labels: Sequence[str]) -> None:
    """The names of the leaves; smaller when they are many, none when they are too many."""
    many = len(order) > _MOST_LABELS
    names = ["" if many else shortened(labels[leaf], 20) for leaf in order]
    size = min(SMALL, 72 * 9.8 / max(len(order), 1) * 0.92)
    axes.set_xticks(range(len(order)), names, rotation=90, fontsize=size, color=INK)
    axes.tick_params(axis="x", length=0, pad=2)


def _draw_groups(
    axes: Axes, order: Sequence[int], groups: Sequence[str], top: float, *, ordered: bool
) -> list[Any]:
    """A coloured mark under each leaf."""
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


ACROSS, UP = 0.55, 0.32
LEFT, RIGHT, ABOVE, BELOW = 0.6, 0.4, 0.6, 1.05
"""Inches: from token to token, from layer to layer, and around."""
_LONGEST, _MOST_NAMES, _TITLE = 14, 60, 90


@picture
def routes_picture(
    routes: xr.Dataset, token: int, layer: int | None = None, *, least: float
) -> Figure:
    """Draw how much of a token after a layer is at each token before, and the links that bring it.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
        token: the place of the token.
        layer: after which it is looked at; by default the last.
        least: smallest share of the token that a shown link brings.
    """
    tokens = [piece.label for piece in pieces_of(routes, "query_token")]
    layers = routes["layer"].values.tolist()
    figure, axes = blank(
        LEFT + ACROSS * len(tokens) + RIGHT, ABOVE + UP * (len(layers) + 1) + BELOW
    )
    after = layers[-1] if layer is None else layer
    title = shortened(
        f"“{tokens[token]}”, after layer {after}: links of at least {least:.1%}", _TITLE
    )
    axes.text(LEFT, 0.25, title, fontweight="bold")
    for depth, name in enumerate(["input", *(f"L{each}" for each in layers)]):
        axes.text(LEFT - 0.1, _y(depth, layers), name, ha="right", va="center", color=QUIET)
    for at, text in enumerate(tokens):
        axes.text(
            _x(at),
            _y(0, layers) + 0.14,
            shortened(text, _LONGEST),
            rotation=90,
            ha="center",
            va="top",
            fontweight="bold" if at == token else "normal",
        )
    ways = ways_to(routes, token, layer, least=least, hidden=parked(routes, "query"))
    blue, orange = (series_styles()[name].light for name in ("weight", "norm"))
    for at in np.flatnonzero(ways.passing.max(0) > 0).tolist():
        depths = np.arange(len(ways.passing))
        half = ways.passing[:, at] * ACROSS * 0.36
        ink = blue if at == token else QUIET
        axes.fill_betweenx(_y(depths, layers), _x(at) - half, _x(at) + half, color=ink, alpha=0.4)
    for link in ways.links:
        _draw(axes, link, layers, blue)
    _squares(axes, routes, ways, least, orange)
    for link in ways.links if len(ways.links) <= _MOST_NAMES else []:
        _name(axes, link, layers)
    return figure


def _x(token: int) -> float:
    return LEFT + ACROSS * (token + 0.5)


def _y(depth: Any, layers: list[int]) -> Any:
    """Return the height of the states after a number of layers, or after each of several."""
    return ABOVE + UP * (len(layers) - depth)


def _draw(axes: Axes, link: Link, layers: list[int], colour: str) -> None:
    depth = layers.index(link.layer)
    x, y = [_x(link.source), _x(link.token)], [_y(depth, layers), _y(depth + 1, layers)]
    axes.plot(x, y, color=colour, linewidth=0.7 + 8 * link.share, alpha=0.8, zorder=2)


def _squares(axes: Axes, routes: xr.Dataset, ways: Ways, least: float, colour: str) -> None:
    """Draw feed-forward layers that rewrite enough of the token in place."""
    for depth, above in enumerate(ways.passing[1:]):
        part = np.nan_to_num(routes["forward"].values[depth]) * above
        for at in np.flatnonzero((part >= least) & (part > 0)).tolist():
            y = _y(depth + 1, routes["layer"].values.tolist()) + 0.3 * UP
            axes.plot(_x(at), y, "s", color=colour, markersize=3, zorder=3)


def _name(axes: Axes, link: Link, layers: list[int]) -> None:
    depth = layers.index(link.layer)
    more = f" +{len(link.heads) - 1}" if len(link.heads) > 1 else ""
    x = _x(link.source) + 0.6 * (_x(link.token) - _x(link.source))
    y = _y(depth, layers) + 0.6 * (_y(depth + 1, layers) - _y(depth, layers))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85}
    name = head_name(link.layer, link.heads[0][0]) if link.heads else f"L{link.layer}"
    axes.text(x, y, name + more, ha="center", va="center", fontsize=SMALL - 2, bbox=box, zorder=4)
