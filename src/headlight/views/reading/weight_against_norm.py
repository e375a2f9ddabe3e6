"""Places of a text at which weight and norm are furthest apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.findings.candidates import last_word, unsaid
from headlight.vocabulary import PER_HEAD, measure_table

Shares = Float[np.ndarray, "head query key"]


def shares_of_layer(part: xr.Dataset, name: str, layer: int) -> Shares:
    """Return a measure of a layer, by its place, as shares of rows."""
    return _shares(part[name].isel(layer=layer).transpose(*PER_HEAD[1:]).values)


def _shares(values: NDArray[Any]) -> Shares:
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


Place = tuple[int, int]


def most_misleading(part: xr.Dataset) -> tuple[Place, Place]:
    """Return the head and cell where the norm of the last word differs most from its weight.

    In generated text, the row that predicted the first token takes the place of the last word.
    The head is that of the largest sum of differences of shares; the key that of its largest
    difference but for keys that are hidden at first.  Of weights alone the head is that in which
    the last word gives most to another word; without weights it is the first, and its largest cell.
    """
    if "weight" not in part:
        row = next(row for row in measure_table() if row.name in part and row.pairwise)
        first = part[row.name].isel(dict.fromkeys(row.axes[:-2], 0))
        return (0, 0), largest_cell(first.transpose("query", "key").values)
    query = 0 if "query_next" in part else last_word(part)
    gaps = np.stack([_gap(part, layer)[:, query] for layer in range(part.sizes["layer"])])
    if "norm" not in part:
        own = [] if part.attrs.get("kind") == "cross" else [int(part["query"].values[query])]
        others = np.delete(gaps, sorted({*unsaid(part, "key"), *own}), -1)
        far = np.nan_to_num(others).max(-1, initial=0)
    else:
        far = np.nansum(np.abs(gaps), -1)
    layer, head = (int(at) for at in np.unravel_index(int(np.argmax(far)), far.shape))
    row = gaps[layer, head].copy()
    hidden = unsaid(part, "key")
    if len(hidden) < len(row):
        row[hidden] = 0
    return (layer, head), (query, largest_cell(row[None])[1])


def apart_numbers(part: xr.Dataset, heads: Sequence[int]) -> list[dict[str, Any]]:
    """Return, as a statistic, the mean distance of weight and norm of each head over tokens.

    It is half the sum of differences of shares, 0 where both are the same and 1 where they have
    nothing in common; the first token of a decoder, which has no choice, is left out.
    """
    if not {"weight", "norm"} <= set(part):
        return []
    alone = part.attrs.get("kind") == "decoder" and int(part["query"].values[0]) == 0
    choice = slice(1 if alone and part.sizes["query"] > 1 else 0, None)
    numbers: list[float | None] = []
    for layer, number in enumerate(heads):
        rows = np.abs(_gap(part, layer)[:number, choice]).sum(-1) / 2
        known = np.isfinite(rows)
        means = np.where(known, rows, 0).sum(-1) / np.maximum(known.sum(-1), 1)
        numbers += [float(f"{mean:.4g}") for mean in means.tolist()]
    label = "how far weight and norm are apart"
    by = {name: [numbers] for name in ("weight", "norm")}
    return [{"name": "apart", "label": label, "unit": "share", "help": "", "by": by}]


def _gap(part: xr.Dataset, layer: int) -> Shares:
    weight = shares_of_layer(part, "weight", layer)
    return weight - shares_of_layer(part, "norm", layer) if "norm" in part else weight


def largest_cell(values: NDArray[Any]) -> Place:
    """Return query and key of the largest size."""
    sizes = np.nan_to_num(np.abs(values))
    query, key = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(query), int(key)
