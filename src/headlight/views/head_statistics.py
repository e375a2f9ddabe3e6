"""What each head does in one text, as single numbers: where its attention goes, and how broadly."""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.findings import average, category_label
from headlight.views.serial import category_name
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, PER_HEAD, measure_table

Shares = Float[np.ndarray, "layer head query key"]


def head_statistics(part: xr.Dataset) -> list[dict[str, Any]]:
    """Statistics of all heads, each by measure: a list over layers of lists over heads.

    Shares are those of a row's sum, sizes below 0 counted as 0; what is told of a head is the mean
    over its rows.

    Args:
        part: a reading of one kind of attention.
    """
    measures = {
        row.name: _shares(part[row.name].transpose(*PER_HEAD).values)
        for row in measure_table()
        if row.axes == PER_HEAD and row.name in part
    }
    found = [
        _statistic(name, label, "1", {each: goes(values) for each, values in measures.items()})
        for name, label, goes in (*_neighbours(part), *_categories(part))
    ]
    entropy = {each: average(_entropy(values), axis=-1) for each, values in measures.items()}
    return [*found, _statistic("broad", "broad", "nats", entropy)]


def _shares(values: NDArray[Any]) -> Shares:
    """Each row as shares of its sum; NaN where that is 0."""
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


def _neighbours(part: xr.Dataset) -> Any:
    """To the token before, to itself, and to the next: where the text attends to itself."""
    queries, keys = part["query_token"].values.tolist(), part["key_token"].values.tolist()
    if part.attrs.get("kind") == "cross" or queries != keys:
        return
    for name, offset in NEIGHBOURS.items():
        label = {"current": "itself"}.get(name, name)

        def goes(values: Shares, offset: int = offset) -> NDArray[np.float64]:
            return average(np.diagonal(values, offset, -2, -1), axis=-1)

        yield name, label, goes


def _categories(part: xr.Dataset) -> Any:
    """To the tokens of each category that occurs."""
    categories = np.array([category_name(each) for each in part["key_category"].values])
    for name in CATEGORIES:
        if not (categories == name).any() or name == "other":
            continue
        places = np.flatnonzero(categories == name)

        def goes(values: Shares, places: NDArray[np.int64] = places) -> NDArray[np.float64]:
            rows = np.where(
                np.isfinite(values).any(-1), np.nansum(values[..., places], axis=-1), np.nan
            )
            return average(rows, axis=-1)

        yield name, category_label(part, name), goes


def _entropy(values: Shares) -> Float[np.ndarray, "layer head query"]:
    inside = np.where(values > 0, values, 1)
    found = -np.where(values > 0, values * np.log(inside), 0).sum(-1)
    return np.where(np.isfinite(values).any(-1), found, np.nan)


def _statistic(
    name: str, label: str, unit: str, by_measure: dict[str, NDArray[np.float64]]
) -> dict[str, Any]:
    rounded = {
        each: [
            [None if np.isnan(value) else float(f"{value:.4g}") for value in layer]
            for layer in values
        ]
        for each, values in by_measure.items()
    }
    return {"name": name, "label": label, "unit": unit, "by_measure": rounded}


def most_misleading(part: xr.Dataset) -> tuple[int, int]:
    """The head whose norms, as shares of their rows, differ most from its weights; as places.

    The first head where a reading has one of both alone.
    """
    if not {"weight", "norm"} <= set(part):
        return 0, 0
    weight, norm = (_shares(part[name].transpose(*PER_HEAD).values) for name in ("weight", "norm"))
    far = np.nansum(np.abs(weight - norm), axis=(-1, -2))
    layer, head = np.unravel_index(int(far.argmax()), far.shape)
    return int(layer), int(head)
