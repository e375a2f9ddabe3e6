"""Statistics of each head of a reading: shares of rows, and the head that it opens on."""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.views.reading.serial import category_name
from headlight.vocabulary import PER_HEAD, measure_table

Shares = Float[np.ndarray, "head query key"]


def shares_of_layer(part: xr.Dataset, name: str, layer: int) -> Shares:
    """A measure of a layer, by its place, as shares of rows."""
    return _shares(part[name].isel(layer=layer).transpose(*PER_HEAD[1:]).values)


def _shares(values: NDArray[Any]) -> Shares:
    """Each row as shares of its sum; NaN where that is 0."""
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


def special_places(part: xr.Dataset) -> list[int]:
    """Return the places of special keys, and in a decoder of the first token, for a sink."""
    categories = [category_name(each) for each in part["key_category"].values]
    decoder = part.attrs.get("kind") == "decoder"
    return [
        at for at, name in enumerate(categories) if name in ("cls", "sep") or (decoder and at == 0)
    ]


Place = tuple[int, int]


def most_misleading(part: xr.Dataset) -> tuple[Place, Place]:
    """Return the head and cell where norms, as shares of their rows, differ most from weights.

    Of a decoder without the first token and special ones.
    The head is that of the largest sum of differences, the cell, of query and key, that of its
    largest. The first head, and its largest cell, where a reading has one of both alone.
    """
    if not {"weight", "norm"} <= set(part):
        row = next(row for row in measure_table() if row.name in part and row.pairwise)
        first = part[row.name].isel(dict.fromkeys(row.axes[:-2], 0))
        return (0, 0), largest_cell(first.transpose("query", "key").values)
    far = [np.nansum(np.abs(_gap(part, layer)), (-1, -2)) for layer in range(part.sizes["layer"])]
    layer, head = (int(at) for at in np.unravel_index(int(np.argmax(far)), np.shape(far)))
    return (layer, head), largest_cell(_gap(part, layer)[head])


def _gap(part: xr.Dataset, layer: int) -> Shares:
    weight, norm = (shares_of_layer(part, name, layer) for name in ("weight", "norm"))
    gap = np.asarray(weight - norm)
    if part.attrs.get("kind") == "decoder":  # whose view opens without them
        gap[..., special_places(part)] = 0
    return gap


def largest_cell(values: NDArray[Any]) -> Place:
    """Query and key of the largest size."""
    sizes = np.nan_to_num(np.abs(values))
    query, key = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(query), int(key)
