"""Differences of two readings, as pictures of heads."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.views.reading.codes import largest_of, pictures
from headlight.views.reading.format import DIFFERENCE, SECOND, Blobs, deflated
from headlight.views.reading.matched_readings import Matched
from headlight.vocabulary import measure


def of_second(blobs: Blobs) -> Blobs:
    """Return blobs of a reading as those of the second of two."""
    parts = ((name.split("/", 2), blob) for name, blob in blobs.items())
    return {f"{kind}/{name}{SECOND}/{rest}": blob for (kind, name, rest), blob in parts}


def difference_pictures(pair: Matched, kind: str) -> Blobs:
    """Return pictures of the differences of all heads, of models of the same shape."""
    return {
        f"{kind}/{name}{DIFFERENCE}/{layer}/picture": deflated(
            pictures(difference_maps(pair, name, layer))
        )
        for name in (pair.names if pair.same_shape else ())
        for layer in range(len(pair.heads))
    }


def difference_maps(pair: Matched, name: str, layer: int) -> Float[np.ndarray, "head query key"]:
    """Return the second reading of a layer less the first; NaN where either has nothing."""
    row = measure(name)
    before, after = (
        part[name].isel(layer=layer).transpose(*row.axes[1:]).values.astype(np.float32)
        for part in (pair.first, pair.second)
    )
    far: NDArray[np.float32] = after - before
    return far[: pair.heads[layer]] if row.per_head else far[None]


def largest_difference(pair: Matched, name: str) -> dict[str, Any]:
    """Return the header of a difference that has pictures."""
    layers = range(len(pair.heads))
    return {"largest": [largest_of(difference_maps(pair, name, layer)) for layer in layers]}
