"""The ways from a token after a layer down to the input, along parts that are large enough."""

from collections import defaultdict
from dataclasses import dataclass

import xarray as xr


@dataclass(frozen=True)
class Way:
    """A token after a layer is made of a token before it.

    Attributes:
        layer: the number of the layer.
        token: the place of the token after it.
        source: that of the token before it.
        share: of the sum after the attention of the layer.
        heads: by which heads, each with its share, the largest first; empty for the residual.
    """

    layer: int
    token: int
    source: int
    share: float
    heads: tuple[tuple[int, float], ...] = ()


def ways_to(
    routes: xr.Dataset,
    token: int,
    layer: int | None = None,
    *,
    least: float,
    without_first: bool = False,
) -> list[Way]:
    """All ways down, layer by layer from the highest.

    Args:
        routes: as `headlight.reading.routes.routes` makes them.
        token: the place of the token.
        layer: after which it is looked at, as the model counts them; by default the last.
        least: the share that a part makes up at least, of heads together for each token.
        without_first: leave out what heads take from the first token.
    """
    layers = routes["layer"].values.tolist()
    last = len(layers) - 1 if layer is None else layers.index(layer)
    found: list[Way] = []
    taken, residual = _taken(routes), routes["residual"].values
    reached = {token}
    for place in range(last, -1, -1):
        below: set[int] = set()
        for one in sorted(reached):
            kept = float(residual[place, one])
            if kept >= least:
                found.append(Way(layers[place], one, one, kept))
                below.add(one)
            for source, heads in taken[place, one].items():
                share = sum(part for _, part in heads)
                if share < least or (without_first and source == 0):
                    continue
                largest = tuple(sorted(heads, key=lambda each: -each[1]))
                found.append(Way(layers[place], one, source, share, largest))
                below.add(source)
        reached = below
    return found


def _taken(routes: xr.Dataset) -> dict[tuple[int, int], dict[int, list[tuple[int, float]]]]:
    """Return the shares that heads give, by layer and receiving token, and by source."""
    found: dict[tuple[int, int], dict[int, list[tuple[int, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    names = ("part_layer", "part_query", "part_key", "part_head", "share")
    for layer, query, key, head, share in zip(
        *(routes[name].values.tolist() for name in names), strict=True
    ):
        found[layer, query][key].append((head, share))
    return found
