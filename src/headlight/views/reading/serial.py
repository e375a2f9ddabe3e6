"""Readings as data for a page.

A reading as JSON: the format of the file.
One object, without white space, numbers rounded to four significant digits::

    format        "1"
    stage         "reading"
    model, revision, kind, text, pair, created, command      strings
    versions      object: name -> version
    layers, heads     how many layers and heads there are
    layer_numbers, head_numbers, query_numbers     lists of those that were kept, from 0
    queries, keys     the attending and the attended tokens, each an object:
        tokens        list of strings
        categories    list of "cls", "sep", "punctuation" or "other"
        words         list of word numbers; -1 for special tokens
        times         of frames of sound alone: when each begins, in seconds
    weight, norm, effective     [layer][head][query][key]
    merged_norm, attribution    [layer][query][key]
    vector_norm                 [layer][head][key]
    input_norm                  [layer][key]
    entropy                     [layer][head][query], in nats
    rank                        [layer][head]

The arrays are all measures of `headlight.vocabulary` that the reading has, each over the axes of
its row.  A reading of several kinds of attention has two entries, ``stage`` and ``kinds``, which
holds such an object for each kind.

What was not observed is null, and a number smaller than a millionth of the largest of its
variable is 0.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray

from headlight.findings.candidates import last_word, unsaid
from headlight.findings.estimates import observed
from headlight.findings.piece_text import category_name
from headlight.result.kinds import KINDS, split_kinds
from headlight.vocabulary import CONTRIBUTION, PER_HEAD, measure_table

_ATTRIBUTES = ("model", "revision", "kind", "text", "pair", "created", "command")


def reading_json(reading: xr.Dataset) -> str:
    """A reading as one line of JSON, in the format that this module's description gives."""
    if KINDS not in reading.attrs:
        return _of_one_kind(reading)
    parts = split_kinds(reading).items()
    written = ",".join(f"{json.dumps(kind)}:{_of_one_kind(part)}" for kind, part in parts)
    return f'{{"stage":"reading","kinds":{{{written}}}}}'


def _of_one_kind(reading: xr.Dataset) -> str:
    head = {
        "format": str(reading.attrs.get("format", "1")),
        "stage": "reading",
        **{name: str(reading.attrs.get(name, "")) for name in _ATTRIBUTES},
        "versions": versions_of(reading),
        "layers": reading.sizes["layer"],
        "layer_numbers": reading["layer"].values.tolist(),
        "heads": reading.sizes["head"],
        "head_numbers": reading["head"].values.tolist(),
        "query_numbers": reading["query"].values.tolist(),
        **token_sides(reading),
        **_generated(reading),
    }
    parts = [json.dumps(head, ensure_ascii=False, separators=(",", ":"))[:-1]]
    parts += [
        f'"{row.name}":{_numbers(observed(reading, row.name, row.axes))}'
        for row in measure_table()
        if row.name in reading
    ]
    return ",".join(parts) + "}"


def _generated(reading: xr.Dataset) -> dict[str, Any]:
    """Return the text that a model has generated, token by token; of other readings nothing."""
    if "query_next" not in reading:
        return {}
    shares = reading["query_probability"].values.tolist()
    rows: list[dict[str, Any]] = [
        {"query": place, "token": str(token), "probability": share}
        for place, token, share in zip(
            reading["query"].values.tolist(), reading["query_next"].values, shares, strict=True
        )
    ][:-1]
    for at, row in enumerate(rows):
        if CONTRIBUTION in reading:
            row[CONTRIBUTION] = reading[CONTRIBUTION].values[at].tolist()
    return {"answer": str(reading.attrs["answer"]), "generated": rows}


Side = dict[str, list[str] | list[int] | list[float]]


def token_sides(reading: xr.Dataset) -> dict[str, Side]:
    """The attending and the attended tokens, as ``queries`` and ``keys``."""
    return {"queries": _tokens(reading, "query"), "keys": _tokens(reading, "key")}


def _tokens(reading: xr.Dataset, side: str) -> Side:
    times = reading.coords.get(f"{side}_time")
    timed: Side = {} if times is None else {"times": [round(float(each), 4) for each in times]}
    names = reading.coords.get(f"{side}_segment")
    segments: Side = {} if names is None else {"segments": [str(name) for name in names.values]}
    places = reading[side].values.tolist()
    some: Side = {} if places == [*range(len(places))] else {"places": places}
    return (
        timed
        | segments
        | some
        | {
            "tokens": [str(token) for token in reading[f"{side}_token"].values],
            "categories": [category_name(c) for c in reading[f"{side}_category"].values],
            "words": [int(word) for word in reading[f"{side}_word"].values],
        }
    )


def versions_of(reading: xr.Dataset) -> object:
    """The versions of the packages by name, or whatever the reading has in their place."""
    try:
        return json.loads(str(reading.attrs.get("versions", "{}")))
    except json.JSONDecodeError:
        return str(reading.attrs["versions"])


def _numbers(values: NDArray[np.float64]) -> str:
    """Nested lists of numbers, written far faster than by the json module."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    tidy = np.where(np.abs(values) < 1e-6 * largest, 0.0, values)
    written: Iterable[str] = (
        f"{value:.4g}" if np.isfinite(value) else "null" for value in tidy.ravel().tolist()
    )
    for length in reversed(values.shape):
        items = list(written)
        written = [
            f"[{','.join(items[start : start + length])}]"
            for start in range(0, len(items), max(length, 1))
        ]
    return "".join(written)


Shares = Float[np.ndarray, "head query key"]


def shares_of_layer(part: xr.Dataset, name: str, layer: int) -> Shares:
    """A measure of a layer, by its place, as shares of rows."""
    return _shares(part[name].isel(layer=layer).transpose(*PER_HEAD[1:]).values)


def _shares(values: NDArray[Any]) -> Shares:
    """Each row as shares of its sum; NaN where that is 0."""
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


Place = tuple[int, int]


def most_misleading(part: xr.Dataset) -> tuple[Place, Place]:
    """Return the head and cell where the norm of the last word differs most from its weight.

    Of generated text it is the row that predicted the first token.
    The head is that of the largest sum of differences of shares; the key that of its largest
    difference but for keys that are hidden at first.  The first head, and its largest cell, where
    a reading has one of both alone.
    """
    if not {"weight", "norm"} <= set(part):
        row = next(row for row in measure_table() if row.name in part and row.pairwise)
        first = part[row.name].isel(dict.fromkeys(row.axes[:-2], 0))
        return (0, 0), largest_cell(first.transpose("query", "key").values)
    query = 0 if "query_next" in part else last_word(part)
    gaps = np.stack([_gap(part, layer)[:, query] for layer in range(part.sizes["layer"])])
    far = np.nansum(np.abs(gaps), -1)
    layer, head = (int(at) for at in np.unravel_index(int(np.argmax(far)), far.shape))
    row = gaps[layer, head].copy()
    hidden = unsaid(part, "key")
    if len(hidden) < len(row):
        row[hidden] = 0
    return (layer, head), (query, largest_cell(row[None])[1])


def apart_numbers(part: xr.Dataset, heads: Sequence[int]) -> list[dict[str, Any]]:
    """Return as a statistic how far weight and norm of each head are apart, the mean over tokens.

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
        numbers += [float(f"{each:.4g}") for each in means.tolist()]
    label = "how far weight and norm are apart"
    by = {name: [numbers] for name in ("weight", "norm")}
    return [{"name": "apart", "label": label, "unit": "share", "help": "", "by": by}]


def _gap(part: xr.Dataset, layer: int) -> Shares:
    weight, norm = (shares_of_layer(part, name, layer) for name in ("weight", "norm"))
    return np.asarray(weight - norm)


def largest_cell(values: NDArray[Any]) -> Place:
    """Query and key of the largest size."""
    sizes = np.nan_to_num(np.abs(values))
    query, key = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(query), int(key)


ABSENT = 255
"""The code of a number that was not observed."""
STEPS, SIGNED_STEPS, MIDDLE = 160, 63, 128
PICTURE = 48
"""Rows and columns of the picture of a head that keeps some cells only."""

Code = Literal["sqrt", "signed"]
"""Code of sizes, or of numbers that may be below 0; see `headlight.views.reading.format`."""
WORST = {
    "sqrt": 1 / STEPS + 1 / (2 * STEPS) ** 2,
    "signed": 1 / SIGNED_STEPS + 1 / (2 * SIGNED_STEPS) ** 2,
}
"""By how much a number may be wrong, as a share of its scale: half a step of the root."""


def encode(
    maps: Float[np.ndarray, "head query key"], code: Code
) -> tuple[Float[np.ndarray, "head query"], UInt8[np.ndarray, "head query key"]]:
    """The scale of each row, and codes; sizes are stored by their roots, so that small ones stay.

    Signed measures have one scale for all rows of a head.
    """
    size = np.abs(maps)
    scale = shortened(np.nanmax(size, axis=-1, initial=0))
    if code == "signed":
        scale = np.broadcast_to(scale.max(-1, keepdims=True), scale.shape)
    finite = np.where(np.isfinite(maps), maps, 0)
    share = np.abs(finite) / np.where(scale > 0, scale, 1)[..., None]
    steps = STEPS if code == "sqrt" else SIGNED_STEPS
    roots = np.rint(np.sqrt(share) * steps)
    if code == "signed":
        roots = MIDDLE + np.sign(finite) * roots
    codes = np.where(np.isfinite(maps), roots, ABSENT).astype(np.uint8)
    return scale, codes


def decode(
    codes: UInt8[np.ndarray, "head query key"], scale: Float[np.ndarray, "head query"], code: Code
) -> Float[np.ndarray, "head query key"]:
    """The numbers of codes; NaN where there was none."""
    if code == "sqrt":
        share = np.square(codes.astype(np.float32) / STEPS)
    else:
        centred = (codes.astype(np.float32) - MIDDLE) / SIGNED_STEPS
        share = np.sign(centred) * np.square(centred)
    return np.where(codes == ABSENT, np.nan, share * scale[..., None]).astype(np.float32)


def strongest(
    maps: Float[np.ndarray, "head query key"], cells: int
) -> Int[np.ndarray, "head query cell"]:
    """The keys of the largest sizes of each row, largest first."""
    size = -np.nan_to_num(np.abs(maps), nan=-1)
    number = min(cells, size.shape[-1])
    some = np.argpartition(size, number - 1, axis=-1)[..., :number]
    order = np.argsort(np.take_along_axis(size, some, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(some, order, axis=-1)


def pictures(maps: Float[np.ndarray, "head query key"]) -> UInt8[np.ndarray, "head row column"]:
    """Each map, pooled by its largest sizes to at most `PICTURE` rows and columns."""
    small = np.nan_to_num(np.abs(maps), nan=0)
    for axis in (1, 2):
        length = small.shape[axis]
        starts = np.unique(np.arange(PICTURE) * length // PICTURE)
        small = np.maximum.reduceat(small, starts, axis=axis)
    largest = small.max((1, 2), keepdims=True)
    share = small / np.where(largest > 0, largest, 1)
    return np.asarray(np.rint(np.sqrt(share) * STEPS).astype(np.uint8))


def shortened(values: NDArray[Any]) -> NDArray[np.float32]:
    """Sizes rounded up to numbers of which only half the bits are not 0, which deflate well."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.int32)
    return np.asarray(((bits + 0xFFF) & ~0xFFF).view(np.float32))
