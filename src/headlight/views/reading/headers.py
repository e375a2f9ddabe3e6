"""Headers of a view: tokens, layers, heads, measures and statistics."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headlight.findings import equal_layers, equal_to_weight, pieces_of
from headlight.findings.candidates import APART, unknown, unsaid
from headlight.findings.statistics import statistics_of
from headlight.views.head_numbers import numbers_as_json
from headlight.views.reading.format import ATTRIBUTES, FORMAT, PICTURE, Head
from headlight.views.reading.json_format import token_sides, versions_of
from headlight.views.reading.pairwise_measures import pairwise_rows
from headlight.views.reading.weight_against_norm import apart_numbers, most_misleading
from headlight.vocabulary import MODEL_LABEL

IS_PICTURE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]{1,1000000}").fullmatch
"""Nothing else is put into a page as an address, whatever the file of a reading holds."""


def header_of(
    reading: xr.Dataset, kinds: Mapping[str, Any], second: xr.Dataset | None = None
) -> dict[str, Any]:
    """Return the header of a view, given the headers of its kinds of attention."""
    return {
        "format": FORMAT,
        **_origin(reading),
        "versions": versions_of(reading),
        "kinds": dict(kinds),
        **({} if second is None else {"second": _origin(second)}),
    }


def _origin(reading: xr.Dataset) -> dict[str, str]:
    origin = {name: str(reading.attrs.get(name, "")) for name in ATTRIBUTES}
    label = str(reading.attrs.get(MODEL_LABEL, ""))
    picture = str(reading.attrs.get(PICTURE, ""))
    more = {MODEL_LABEL: label, PICTURE: picture if IS_PICTURE(picture) else ""}
    return origin | {name: value for name, value in more.items() if value}


def header_of_kind(
    part: xr.Dataset, heads: list[int], measures: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the header of one kind of attention, with the headers of its measures."""
    first, cell = most_misleading(part)
    return {
        "layers": part["layer"].values.tolist(),
        "heads": heads,
        **_sides(part),
        "measures": {row.name: measures[row.name] for row in pairwise_rows(part)},
        **_equal(part),
        "first": list(first),
        "cell": list(cell),
        "floor": APART,
        "statistics": [
            *numbers_as_json(part, statistics_of(part), places_of(part, heads)),
            *apart_numbers(part, heads),
        ],
    }


def places_of(part: xr.Dataset, heads: Sequence[int]) -> list[Head]:
    """Return layers, as the model counts them, and heads, in the order of statistics."""
    layers = part["layer"].values.tolist()
    return [(layer, head) for layer, n in zip(layers, heads, strict=True) for head in range(n)]


def _sides(part: xr.Dataset) -> dict[str, Any]:
    """Return the tokens of both sides, as the vocabulary writes them and as they are shown."""
    pieces = {"queries": pieces_of(part, "query_token"), "keys": pieces_of(part, "key_token")}
    return {
        side: {
            **tokens,
            "texts": [piece.text for piece in pieces[side]],
            "marks": [piece.mark for piece in pieces[side]],
            "unsaid": unsaid(part, axis),
            "unknown": unknown(part, f"{axis}_token"),
        }
        for axis, (side, tokens) in zip(("query", "key"), token_sides(part).items(), strict=True)
    }


def _equal(part: xr.Dataset) -> dict[str, Any]:
    reason = equal_to_weight(part)
    return {"equal": {"layers": equal_layers(part), "said": reason}} if reason else {}
