"""Routes of a token through the layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headlight.findings.phrases import percent
from headlight.findings.route_tracing import Link, ways_to
from headlight.findings.routes import named_sources, strong_links
from headlight.findings.token_names import parked, pieces_of
from headlight.views.colours import series_styles
from headlight.views.pictures.label_placing import Box, text_width
from headlight.views.pictures.panels import blank
from headlight.views.pictures.theme import QUIET, SMALL, Axes, Figure, picture
from headlight.views.titles import shortened
from headlight.vocabulary import head_name

ACROSS, UP = 0.55, 0.32
LEFT, RIGHT, ABOVE, BELOW = 0.6, 0.4, 0.6, 1.05
"""Inches: from token to token, from layer to layer, and around."""
_LONGEST, _TITLE = 14, 90


@picture
def routes_picture(
    routes: xr.Dataset, token: int, layer: int | None = None, *, least: float
) -> Figure:
    """Draw how much of a token after a layer is at each token before, and the links that bring it.

    Args:
        routes: Routes as `headlight.reading.routes.routes` makes them.
        token: Place of the token.
        layer: Layer after which the token is observed; by default the last.
        least: Smallest share of the token that a shown link brings.
    """
    tokens = [piece.label for piece in pieces_of(routes, "query_token")]
    layers = routes["layer"].values.tolist()
    figure, axes = blank(
        LEFT + ACROSS * len(tokens) + RIGHT, ABOVE + UP * (len(layers) + 1) + BELOW
    )
    after = layers[-1] if layer is None else layer
    title = f"How much of “{tokens[token]}”, after layer {after}, came straight from each token"
    axes.text(LEFT, 0.25, shortened(title, _TITLE), fontweight="bold")
    for depth, name in enumerate(["input", *(f"L{layer}" for layer in layers)]):
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
    strong = strong_links(ways, named_sources(routes, ways, token))
    for at in np.flatnonzero(ways.direct > 0).tolist():
        share = percent(ways.direct[at])
        axes.text(_x(at), ABOVE - 0.1, share, ha="center", va="bottom", fontsize=SMALL)
    blue = series_styles()["weight"].light
    for at in np.flatnonzero(ways.passing.max(0) > 0).tolist():
        depths = np.arange(len(ways.passing))
        half = ways.passing[:, at] * ACROSS * 0.36
        ink = blue if at == token else QUIET
        axes.fill_betweenx(_y(depths, layers), _x(at) - half, _x(at) + half, color=ink, alpha=0.4)
    for link in ways.links:
        _draw(axes, link, layers, blue, is_strong=link in strong)
    _name_links(axes, strong, layers)
    return figure


def _x(token: int) -> float:
    return LEFT + ACROSS * (token + 0.5)


def _y(depth: Any, layers: list[int]) -> Any:
    return ABOVE + UP * (len(layers) - depth)


def _draw(axes: Axes, link: Link, layers: list[int], colour: str, *, is_strong: bool) -> None:
    depth = layers.index(link.layer)
    x, y = [_x(link.source), _x(link.token)], [_y(depth, layers), _y(depth + 1, layers)]
    width, alpha = (1.5, 0.9) if is_strong else (0.5, 0.3)
    axes.plot(x, y, color=colour, linewidth=width + 8 * link.share, alpha=alpha, zorder=2)


def _name_links(axes: Axes, links: Sequence[Link], layers: list[int]) -> None:
    """Write the first head of each link where there is room, of those that bring most first."""
    written: list[Box] = []
    for link in sorted(links, key=lambda link: -link.share):
        depth = layers.index(link.layer)
        more = f" +{len(link.heads) - 1}" if len(link.heads) > 1 else ""
        head = head_name(link.layer, link.heads[0][0]) if link.heads else f"L{link.layer}"
        x = _x(link.source) + 0.6 * (_x(link.token) - _x(link.source))
        y = _y(depth, layers) + 0.6 * (_y(depth + 1, layers) - _y(depth, layers))
        half, high = text_width(head + more, SMALL) / 2, SMALL / 144
        box = Box(x - half, y - high, x + half, y + high)
        if any(box.meets(other) for other in written):
            continue
        written.append(box)
        text = axes.text(x, y, head + more, ha="center", va="center", fontsize=SMALL, zorder=4)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})
