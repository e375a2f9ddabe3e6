"""Unpacking of a reading from header and blobs."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import ResultError
from headlight.result.kinds import concat_kinds
from headlight.views.reading.codes import ABSENT, decode
from headlight.views.reading.format import ATTRIBUTES, DIFFERENCE, PICTURE, SECOND, check_format
from headlight.vocabulary import MODEL_LABEL, measure

_OF_TOKENS = {
    "token": "tokens",
    "category": "categories",
    "word": "words",
    "segment": "segments",
}
"""Coordinates of tokens, and what a header calls the list of each."""


def unpack(
    header: Mapping[str, Any], get: Callable[[str], bytes], *, second: bool = False
) -> xr.Dataset:
    """Return the measures of pairs of positions that were packed, each within its bound.

    Cells that were not kept are NaN.

    Args:
        header: Header of the view.
        get: Function that returns the blob of a name, as it was packed.
        second: Whether to return the second of two readings, and not the first.

    Raises:
        ResultError: The format is a later one, or none; or there is no second reading.
    """
    check_format(header)
    if second and "second" not in header:
        raise ResultError("this view is of one reading; leave second out.")
    origin = header["second"] if second else header
    parts = {
        kind: _unpacked(kind, part, get, SECOND if second else "").assign_attrs(
            {
                **{
                    name: origin[name]
                    for name in (*ATTRIBUTES, MODEL_LABEL, PICTURE)
                    if name in origin
                },
                "stage": "reading",
                "kind": kind,
            }
        )
        for kind, part in header["kinds"].items()
    }
    return concat_kinds(parts) if len(parts) > 1 else next(iter(parts.values()))


def _unpacked(
    kind: str, part: Mapping[str, Any], get: Callable[[str], bytes], end: str
) -> xr.Dataset:
    """Return one kind of attention; ``end`` is the suffix of the measures of this reading."""
    variables: dict[str, xr.DataArray] = {}
    shape = (len(part["queries"]["tokens"]), len(part["keys"]["tokens"]))
    measures = _measures_of(part, end)
    needed = {name for about in measures.values() for name in about.get("from", ())}
    lengths = [
        _inflated(get(f"{kind}/vector_norm{end}/{layer}/codes"), "<f4").reshape(number, shape[1])
        for layer, number in enumerate(part["heads"])
        if f"vector_norm{end}" in needed
    ]
    for name, about in measures.items():
        if "code" in about:
            maps = [
                _layer(f"{kind}/{name}{end}/{layer}", about, number, shape, get)
                for layer, number in enumerate(part["heads"])
            ]
            variables[name] = _joined(name, maps)
    for name, about in measures.items():
        if "from" in about:
            values = variables["weight"]
            if len(about["from"]) > 1:
                values = values * _joined("vector_norm", lengths)
            variables[name] = values.transpose(*measure(name).axes)
    coordinates: dict[str, Any] = {
        f"{side}_{name}": (side, positions[many])
        for side, positions in (("query", part["queries"]), ("key", part["keys"]))
        for name, many in _OF_TOKENS.items()
        if many in positions
    }
    coordinates["layer"] = part["layers"]
    if "places" in part["queries"]:
        coordinates["query"] = part["queries"]["places"]
    whole = xr.Dataset(variables, coords=coordinates)
    return _one_of_two(whole, part, end) if "of" in part["queries"] else whole


def _one_of_two(whole: xr.Dataset, part: Mapping[str, Any], end: str) -> xr.Dataset:
    """Return one of two readings without the tokens, layers and heads of the other."""
    other = "first" if end else "second"
    present = {
        side: [at for at, reading in enumerate(part[many]["of"]) if reading != other]
        for side, many in (("query", "queries"), ("key", "keys"))
    }
    if end:
        for side, many in (("query", "queries"), ("key", "keys")):
            tokens = list(part[many]["tokens"])
            for at, token in part[many]["instead"].items():
                tokens[int(at)] = token
            whole = whole.assign_coords({f"{side}_token": (side, tokens)})
    return whole.isel(present).dropna("layer", how="all").dropna("head", how="all")


def _measures_of(part: Mapping[str, Any], end: str) -> dict[str, Mapping[str, Any]]:
    """Return the measures of a header: those of the first reading, or of the second."""
    measures: dict[str, Mapping[str, Any]] = part["measures"]
    if not end:
        others = (SECOND, DIFFERENCE)
        return {name: about for name, about in measures.items() if not name.endswith(others)}
    return {name.removesuffix(end): about for name, about in measures.items() if name.endswith(end)}


def _joined(name: str, maps: Sequence[NDArray[np.float32]]) -> xr.DataArray:
    """Join layers to one array; those with fewer heads are filled up with NaN."""
    heads = max(len(layer) for layer in maps)
    filled = [
        np.pad(
            layer,
            [(0, heads - len(layer)), *[(0, 0)] * (layer.ndim - 1)],
            constant_values=np.nan,
        )
        for layer in maps
    ]
    values = np.stack(filled)
    axes = measure(name).axes
    return xr.DataArray(values if "head" in axes else values[:, 0], dims=axes)


def _layer(
    name: str,
    about: Mapping[str, Any],
    heads: int,
    shape: tuple[int, int],
    get: Callable[[str], bytes],
) -> NDArray[np.float32]:
    number = heads if about["per"] == "head" else 1
    scale = _inflated(get(f"{name}/scale"), "<f4").reshape(number, shape[0])
    codes = _inflated(get(f"{name}/codes"), "u1")
    if about["cells"] is None:
        return decode(codes.reshape(number, *shape), scale, about["code"])
    # Cells that were not kept have the code of those that were not observed: NaN.
    whole = np.full((number, *shape), ABSENT, dtype=np.uint8)
    cells = min(about["cells"], shape[1])
    keys = _inflated(get(f"{name}/keys"), "<u2").reshape(number, shape[0], cells)
    np.put_along_axis(whole, keys.astype(np.int64), codes.reshape(number, shape[0], cells), axis=-1)
    layer = int(name.rpartition("/")[2])
    for dense_layer, head in about["dense"]:
        if dense_layer == layer and head < number:
            whole[head] = _inflated(get(f"{name}/{head}"), "u1").reshape(shape)
    return decode(whole, scale, about["code"])


def _inflated(blob: bytes, kind: str) -> NDArray[Any]:
    return np.frombuffer(gzip.decompress(blob), dtype=kind)
