"""What each head does in one text, as single numbers: where its attention goes, and how broadly."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from headlight.findings import average, category_label
from headlight.views.reading.serial import category_name
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, PER_HEAD, measure_table

Shares = Float[np.ndarray, "head query key"]
Goes = Callable[[Shares], NDArray[np.float64]]
"""A number for each head of a layer, from the shares of its rows."""

HEADS = {
    "first": "sink",
    "duplicate": "duplicate-token",
    "induction": "induction",
    "subword": "subword",
}
"""What heads are called that do these things, to be found by."""


def head_statistics(part: xr.Dataset) -> list[dict[str, Any]]:
    """Statistics of all heads, each by measure: a list over layers of lists over heads.

    Shares are those of a row's sum, sizes below 0 counted as 0; what is told of a head is the mean
    over its rows.

    Args:
        part: a reading of one kind of attention.
    """
    to = [*_neighbours(part), *_first(part), *_earlier(part), *_categories(part)]
    statistics = [*to, ("broad", "broad", "nats", _entropy)]
    found: list[dict[str, Any]] = [
        {"name": name, "label": label, "unit": unit, "by_measure": {}}
        | ({"heads": HEADS[name]} if name in HEADS else {})
        for name, label, unit, _ in statistics
    ]
    for row in measure_table():
        if row.axes != PER_HEAD or row.name not in part:
            continue
        layers = (shares_of_layer(part, row.name, layer) for layer in range(part.sizes["layer"]))
        by_layer = [[_rounded(goes(each)) for *_, goes in statistics] for each in layers]
        for told, numbers in zip(found, zip(*by_layer, strict=True), strict=True):
            told["by_measure"][row.name] = list(numbers)
    return found


def shares_of_layer(part: xr.Dataset, name: str, layer: int) -> Shares:
    """A measure of a layer, by its place, as shares of rows."""
    return _shares(part[name].isel(layer=layer).transpose(*PER_HEAD[1:]).values)


def _shares(values: NDArray[Any]) -> Shares:
    """Each row as shares of its sum; NaN where that is 0."""
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


def _neighbours(part: xr.Dataset) -> Iterator[tuple[str, str, str, Goes]]:
    """To the token before, to itself, and to the next: where the text attends to itself."""
    if not _attends_to_itself(part):
        return
    for name, offset in NEIGHBOURS.items():
        label = {"current": "itself"}.get(name, name)

        def goes(values: Shares, offset: int = offset) -> NDArray[np.float64]:
            return average(np.diagonal(values, offset, -2, -1), axis=-1)

        yield name, label, "1", goes


def _attends_to_itself(part: xr.Dataset) -> bool:
    queries, keys = part["query_token"].values.tolist(), part["key_token"].values.tolist()
    return part.attrs.get("kind") != "cross" and queries == keys


def _earlier(part: xr.Dataset) -> Iterator[tuple[str, str, str, Goes]]:
    """To tokens that stand in a relation to earlier ones; the mean over tokens that have such.

    As a survey counts them: special tokens are left out.
    """
    if not _attends_to_itself(part):
        return
    categories = [category_name(each) for each in part["key_category"].values]
    usual = [name not in ("cls", "sep") for name in categories]
    equal = _pairs(part["key_token"].values.tolist(), usual)
    yield from _of_pairs("duplicate", "earlier equal tokens (duplicate)", equal)
    yield from _of_pairs(
        "induction", "tokens after equal ones (induction)", equal + np.array([[0], [1]])
    )
    if "key_word" in part.coords:
        words = part["key_word"].values.tolist()
        is_piece = [
            name == "other" and word >= 0 for name, word in zip(categories, words, strict=True)
        ]
        yield from _of_pairs("subword", "earlier pieces of the word", _pairs(words, is_piece))


def _pairs(labels: Sequence[Any], there: Sequence[bool]) -> Int64[np.ndarray, "2 pair"]:
    """Places of one label: each with all earlier ones, among those that are there."""
    places: dict[Any, list[int]] = {}
    found: list[tuple[int, int]] = []
    for place, (label, is_there) in enumerate(zip(labels, there, strict=True)):
        if is_there:
            before = places.setdefault(label, [])
            found.extend((place, each) for each in before)
            before.append(place)
    return np.array(found, dtype=np.int64).reshape(-1, 2).T


def _of_pairs(
    name: str, label: str, pairs: Int64[np.ndarray, "2 pair"]
) -> Iterator[tuple[str, str, str, Goes]]:
    if not pairs.size:
        return
    queries, keys = pairs
    asked = np.unique(queries)

    def goes(values: Shares) -> NDArray[np.float64]:
        rows = np.zeros(values.shape[1::-1])
        np.add.at(rows, queries, values[:, queries, keys].T)
        return average(rows[asked], axis=0)

    yield name, label, "1", goes


def special_places(part: xr.Dataset) -> list[int]:
    """Where special tokens stand among the keys, and in a decoder the first token, for a sink."""
    categories = [category_name(each) for each in part["key_category"].values]
    decoder = part.attrs.get("kind") == "decoder"
    return [
        at for at, name in enumerate(categories) if name in ("cls", "sep") or (decoder and at == 0)
    ]


def _first(part: xr.Dataset) -> Iterator[tuple[str, str, str, Goes]]:
    """To the first token, of a decoder in which it is none of the special ones."""
    if (
        part.attrs.get("kind") != "decoder"
        or category_name(part["key_category"].values[0]) == "cls"
    ):
        return

    def goes(values: Shares) -> NDArray[np.float64]:
        return average(values[..., 0], axis=-1)

    yield "first", "the first token (sink)", "1", goes


def _categories(part: xr.Dataset) -> Iterator[tuple[str, str, str, Goes]]:
    """To the tokens of each category that occurs."""
    categories = np.array([category_name(each) for each in part["key_category"].values])
    for name in CATEGORIES:
        if not (categories == name).any() or name == "other":
            continue
        places = np.flatnonzero(categories == name)

        def goes(values: Shares, places: NDArray[np.int64] = places) -> NDArray[np.float64]:
            rows = np.nansum(values[..., places], axis=-1)
            return average(np.where(np.isfinite(values).any(-1), rows, np.nan), axis=-1)

        yield name, category_label(part, name), "1", goes


def _entropy(values: Shares) -> NDArray[np.float64]:
    inside = np.where(values > 0, values, 1)
    found = -np.where(values > 0, values * np.log(inside), 0).sum(-1)
    return average(np.where(np.isfinite(values).any(-1), found, np.nan), axis=-1)


def _rounded(numbers: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in numbers]


Place = tuple[int, int]


def most_misleading(part: xr.Dataset) -> tuple[Place, Place]:
    """Where norms, as shares of their rows, differ most from weights: layer and head, and the cell.

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
    return np.asarray(weight - norm)


def largest_cell(values: NDArray[Any]) -> Place:
    """Query and key of the largest size."""
    sizes = np.nan_to_num(np.abs(values))
    query, key = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(query), int(key)
