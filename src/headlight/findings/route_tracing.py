"""Tracing of routes: the ways of a token down to the input."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray


@dataclass(frozen=True)
class Link:
    """Link from a token to another that takes from it in a layer, on the way to the chosen one.

    Attributes:
        layer: Number of the layer.
        token: Place of the receiving token.
        source: Place of the token that it takes from.
        share: Share of the chosen token that passes here.
        heads: Heads of the link, each with its share of the chosen token, the largest first; heads
            whose parts are too small to be kept are not among them.
    """

    layer: int
    token: int
    source: int
    share: float
    heads: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways from a token after a layer down to the input.

    Attributes:
        links: Links that are large enough, layer by layer from the highest.
        passing: Share of the chosen token that is at each token before each layer, and in the
            last row after the last layer; each row adds up to 1.
        direct: Share that the chosen token takes from each token in any layer; its own share is
            what it never took from another.
        most: Link to the chosen token whose first head brings most, by the token that it takes
            from.
    """

    links: list[Link]
    passing: NDArray[np.float64]
    direct: NDArray[np.float64]
    most: dict[int, Link]


def ways_to(
    routes: xr.Dataset,
    token: int,
    layer: int | None = None,
    *,
    least: float,
    hidden: Collection[int] = (),
) -> Ways:
    """Follow a token down to the input, by the product of the shares along each way.

    Args:
        routes: Routes, as `headlight.reading.routes.routes` makes them.
        token: Place of the token.
        layer: Layer after which the token is observed, as the model counts layers; by default the
            last.
        least: Smallest share of the chosen token that a link brings.
        hidden: Places of tokens from which no link is drawn.
    """
    layers = routes["layer"].values.tolist()
    last = len(layers) - 1 if layer is None else layers.index(layer)
    taken, heads = shares_taken(routes), _heads(routes)
    links: list[Link] = []
    most: dict[int, Link] = {}
    passing = np.zeros((last + 2, taken.shape[1]))
    passing[last + 1, token] = own_share = 1.0
    direct = np.zeros(taken.shape[1])
    for place in range(last, -1, -1):
        brought = passing[place + 1][:, None] * taken[place]
        passing[place] = brought.sum(0) + passing[place + 1] * (1 - taken[place].sum(1))
        direct += own_share * taken[place, token]
        large = (brought >= least) & (brought > 0)
        large[token] |= brought[token] > 0
        for to, source in np.argwhere(large).tolist():
            share = float(brought[to, source])
            part = share / float(taken[place, to, source])
            parts = sorted(heads[place, to, source], key=lambda part: -part[1])
            by = tuple((head, part * local) for head, local in parts)
            link = Link(layers[place], to, source, share, by)
            if share >= least and source not in hidden:
                links.append(link)
            if to == token and (source not in most or _first(link) > _first(most[source])):
                most[source] = link
        own_share *= 1 - float(taken[place, token].sum())
    direct[token] = own_share
    return Ways(links, passing, direct, most)


def _first(link: Link) -> float:
    """Return the share that the first head of a link brings; 0 where none is kept."""
    return link.heads[0][1] if link.heads else 0.0


def shares_taken(routes: xr.Dataset) -> Float[np.ndarray, "layer query key"]:
    """Return the share that each token takes from each other token by all heads; 0 from itself."""
    taken = routes["rest"].values.astype(np.float64)
    places = tuple(routes[f"part_{axis}"].values for axis in ("layer", "query", "key"))
    np.add.at(taken, places, routes["share"].values)
    taken[:, np.arange(taken.shape[1]), np.arange(taken.shape[1])] = 0
    return taken


def _heads(routes: xr.Dataset) -> dict[tuple[int, int, int], list[tuple[int, float]]]:
    """Return the parts of heads by layer, receiving token and source."""
    parts: dict[tuple[int, int, int], list[tuple[int, float]]] = defaultdict(list)
    names = ("part_layer", "part_query", "part_key", "part_head", "share")
    columns = (routes[name].values.tolist() for name in names)
    for layer, query, key, head, share in zip(*columns, strict=True):
        parts[layer, query, key].append((head, share))
    return parts
