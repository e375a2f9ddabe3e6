"""A reading as JSON: the format of the file.

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
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.token_names import category_name
from headlight.findings.variables import observed
from headlight.result.kinds import KINDS, split_kinds
from headlight.vocabulary import CONTRIBUTION, measure_table

_ATTRIBUTES = ("model", "revision", "kind", "text", "pair", "created", "command")


def reading_json(reading: xr.Dataset) -> str:
    """Return a reading as one line of JSON, in the format that this module's description gives."""
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
    """Return the text that a model has generated, token by token; nothing for other readings."""
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
    """Return the attending and the attended tokens, as ``queries`` and ``keys``."""
    return {"queries": _tokens(reading, "query"), "keys": _tokens(reading, "key")}


def _tokens(reading: xr.Dataset, side: str) -> Side:
    times = reading.coords.get(f"{side}_time")
    timed: Side = {} if times is None else {"times": [round(float(second), 4) for second in times]}
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
    """Return the versions of the packages by name, or whatever the reading has in their place."""
    try:
        return json.loads(str(reading.attrs.get("versions", "{}")))
    except json.JSONDecodeError:
        return str(reading.attrs["versions"])


def _numbers(values: NDArray[np.float64]) -> str:
    """Write nested lists of numbers, far faster than the json module does."""
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
