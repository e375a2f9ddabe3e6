"""Routes from the input to a token: tokens across, layers up, lines from where it is taken."""

import xarray as xr

from headlight.findings.piece_text import pieces_of
from headlight.findings.ways import Way, ways_to
from headlight.views.colour import series_styles
from headlight.views.pictures.canvas import blank
from headlight.views.pictures.theme import INK, QUIET, SMALL, Axes, Figure, picture
from headlight.views.words import shortened

ACROSS, UP = 0.55, 0.32
LEFT, RIGHT, ABOVE, BELOW = 0.6, 0.4, 0.6, 1.05
"""Inches: from token to token, from layer to layer, and around."""
_LONGEST, _MOST_NAMES, _TITLE = 14, 60, 90


@picture
def routes_picture(
    routes: xr.Dataset, token: int, layer: int | None = None, *, least: float
) -> Figure:
    """The ways down from a token after a layer.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
        token: the place of the token.
        layer: after which it is looked at; by default the last.
        least: the share that a part makes up at least.
    """
    tokens = [piece.label for piece in pieces_of(routes, "query_token")]
    layers = routes["layer"].values.tolist()
    figure, axes = blank(
        LEFT + ACROSS * len(tokens) + RIGHT, ABOVE + UP * (len(layers) + 1) + BELOW
    )
    after = layers[-1] if layer is None else layer
    title = shortened(
        f"{tokens[token]}, after layer {after}: parts of at least {least:.1%}", _TITLE
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
    ways = ways_to(routes, token, layer, least=least)
    blue, orange = (series_styles()[name].light for name in ("weight", "norm"))
    for way in ways:
        _draw(axes, way, layers, blue if way.heads else QUIET)
    _dots(axes, ways, layers)
    _squares(axes, routes, ways, least, orange)
    attends = [way for way in ways if way.heads]
    for way in attends if len(attends) <= _MOST_NAMES else []:
        _name(axes, way, layers)
    return figure


def _x(token: int) -> float:
    return LEFT + ACROSS * (token + 0.5)


def _y(depth: int, layers: list[int]) -> float:
    """Return the height of the states after a number of layers."""
    return ABOVE + UP * (len(layers) - depth)


def _draw(axes: Axes, way: Way, layers: list[int], colour: str) -> None:
    depth = layers.index(way.layer)
    x, y = [_x(way.source), _x(way.token)], [_y(depth, layers), _y(depth + 1, layers)]
    if way.heads and way.source == way.token:  # beside the residual
        x, y = [x[0], x[0] + 0.14, x[1]], [y[0], sum(y) / 2, y[1]]
    axes.plot(x, y, color=colour, linewidth=0.5 + 4 * way.share, alpha=0.8, zorder=1)


def _dots(axes: Axes, ways: list[Way], layers: list[int]) -> None:
    ends = {(way.token, layers.index(way.layer) + 1) for way in ways}
    ends |= {(way.source, layers.index(way.layer)) for way in ways}
    for token, depth in sorted(ends):
        axes.plot(_x(token), _y(depth, layers), "o", color=INK, markersize=2.6, zorder=3)


def _squares(axes: Axes, routes: xr.Dataset, ways: list[Way], least: float, colour: str) -> None:
    """Feed-forward layers on the way."""
    layers = routes["layer"].values.tolist()
    for token, layer in sorted({(way.token, way.layer) for way in ways}):
        depth = layers.index(layer)
        share = float(routes["forward"].values[depth, token])
        if share >= least:
            y = _y(depth + 1, layers) + 0.3 * UP
            axes.plot(_x(token), y, "s", color=colour, markersize=4, alpha=0.35 + 0.65 * share)


def _name(axes: Axes, way: Way, layers: list[int]) -> None:
    depth, (head, _) = layers.index(way.layer), way.heads[0]
    more = f" +{len(way.heads) - 1}" if len(way.heads) > 1 else ""
    beside = 0.3 if way.source == way.token else 0.0
    x = _x(way.source) + 0.6 * (_x(way.token) - _x(way.source)) + beside
    y = _y(depth, layers) + 0.6 * (_y(depth + 1, layers) - _y(depth, layers))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85}
    name = f"L{way.layer}H{head}{more}"
    axes.text(x, y, name, ha="center", va="center", fontsize=SMALL - 2, bbox=box, zorder=4)
