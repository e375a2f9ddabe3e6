"""The format ``headlight-view/2``: a reading as a header and small binary blobs, for the page.

Its fields are those of the table in ``docs/view.md``. A blob has a name,
``KIND/MEASURE/LAYER/PART``, and is deflated by gzip. Numbers are little-endian. ``codes`` is uint8
over head (absent per layer), query and key, ``scale`` float32 over head and query:

* ``sqrt``: a number is (code / 160)² · scale
* ``signed``: a number is sign(c) · (c / 63)² · scale with c = code - 128

The code 255 stands for a number that was not observed.
"""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray

from headlight.errors import ResultError, UsageError
from headlight.findings import equal_layers, equal_to_weight, pieces_of
from headlight.findings.candidates import APART, unknown, unsaid
from headlight.findings.statistics import statistics_of
from headlight.result.kinds import concat_kinds, split_kinds
from headlight.views.head_numbers import numbers_as_json
from headlight.views.reading.pair import DIFFERENCE, SECOND, Matched, header_of_both, matched
from headlight.views.reading.serial import (
    ABSENT,
    Code,
    apart_numbers,
    decode,
    encode,
    most_misleading,
    pictures,
    shortened,
    strongest,
    token_sides,
    versions_of,
)
from headlight.vocabulary import MODEL_LABEL, Measure, head_name, measure, measure_table

FORMAT = "headlight-view/2"
CELLS = (32, 16, 8, 4)
"""Numbers of cells of a row that may be kept, the largest first; the first that fits is taken."""

Blobs = dict[str, bytes]
Head = tuple[int, int]

_OF_TOKENS = {
    "token": "tokens",
    "category": "categories",
    "word": "words",
    "segment": "segments",
}
"""Coordinates of tokens, and what a header calls the list of each."""

PICTURE = "picture"
_IS_PICTURE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]{1,1000000}").fullmatch
"""Nothing else is put into a page as an address, whatever the file of a reading holds."""

_ATTRIBUTES = ("model", "revision", "text", "pair", "created", "command")


@dataclass(frozen=True)
class View:
    """A reading as header and blobs.

    Attributes:
        header: see the description of this module.
        blobs: by name, deflated.
    """

    header: dict[str, Any]
    blobs: Blobs

    @property
    def size(self) -> int:
        """Bytes of all blobs as text (base64)."""
        return sum(4 * -(-len(blob) // 3) for blob in self.blobs.values())

    def texts(self) -> dict[str, str]:
        """The blobs as they stand in a page."""
        return {name: base64.b64encode(blob).decode() for name, blob in self.blobs.items()}


def pack(
    reading: xr.Dataset,
    *,
    second: xr.Dataset | None = None,
    megabytes: float | None = None,
    whole_heads: Iterable[Head] = (),
) -> View:
    """A reading as header and blobs, or two.

    Args:
        reading: of one kind of attention, or of several.
        second: what it is compared with, of the same kinds.
        megabytes: how large the blobs may be as text; rows keep their strongest cells only where
            all cells are more than that. By default everything is kept.
        whole_heads: layers, as the model counts them, and heads that keep all cells even then.

    Raises:
        UsageError: such a head is not in the reading, or the second is of other kinds.
    """
    kinds = _encoded_kinds(reading, second)
    whole = [_placed(head, kinds) for head in whole_heads]
    budget = np.inf if megabytes is None else 1e6 * megabytes
    cells: tuple[int | None, ...] = CELLS if _least(kinds) > budget else (None, *CELLS)
    for number in cells:
        blobs: Blobs = {}
        for kind, part in kinds.items():
            blobs |= part.blobs(kind, number, frozenset(whole))
        view = View({}, blobs)
        if view.size <= budget:
            break
    headers = {kind: part.header(number, whole) for kind, part in kinds.items()}
    return View(header_of(reading, headers, second), blobs)


def header_of(
    reading: xr.Dataset, kinds: Mapping[str, Any], second: xr.Dataset | None = None
) -> dict[str, Any]:
    """The header of a view, of which the kinds are told already."""
    return {
        "format": FORMAT,
        **_origin(reading),
        "versions": versions_of(reading),
        "kinds": dict(kinds),
        **({} if second is None else {"second": _origin(second)}),
    }


def _origin(reading: xr.Dataset) -> dict[str, str]:
    origin = {name: str(reading.attrs.get(name, "")) for name in _ATTRIBUTES}
    label = str(reading.attrs.get(MODEL_LABEL, ""))
    picture = str(reading.attrs.get(PICTURE, ""))
    more = {MODEL_LABEL: label, PICTURE: picture if _IS_PICTURE(picture) else ""}
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
    """The tokens of both sides, as the vocabulary writes them and as they are shown."""
    pieces = {"queries": pieces_of(part, "query_token"), "keys": pieces_of(part, "key_token")}
    return {
        side: {
            **tokens,
            "texts": [each.text for each in pieces[side]],
            "marks": [each.mark for each in pieces[side]],
            "unsaid": unsaid(part, one),
            "unknown": unknown(part, f"{one}_token"),
        }
        for one, (side, tokens) in zip(("query", "key"), token_sides(part).items(), strict=True)
    }


def _equal(part: xr.Dataset) -> dict[str, Any]:
    """Return the layers whose effective attention is the weight, and why; else nothing."""
    reason = equal_to_weight(part)
    return {"equal": {"layers": equal_layers(part), "said": reason}} if reason else {}


def unpack(
    header: Mapping[str, Any], get: Callable[[str], bytes], *, second: bool = False
) -> xr.Dataset:
    """The measures of pairs of positions that were packed, each within its bound.

    Cells that were not kept are NaN.

    Args:
        header: of the view.
        get: the blob of a name, as it was packed.
        second: the second of two readings, and not the first.

    Raises:
        ResultError: the format is a later one, or none; or there is no second reading.
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
                    for name in (*_ATTRIBUTES, MODEL_LABEL, PICTURE)
                    if name in origin
                },
                "stage": "reading",
                "kind": kind,
            }
        )
        for kind, part in header["kinds"].items()
    }
    return concat_kinds(parts) if len(parts) > 1 else next(iter(parts.values()))


def check_format(header: Mapping[str, Any]) -> None:
    """Refuse what is of another format.

    Raises:
        ResultError: it is.
    """
    name, _, number = str(header.get("format", "")).partition("/")
    own, _, supported = FORMAT.partition("/")
    if name != own or not number.isdecimal() or int(number) > int(supported):
        raise ResultError(
            f"this view is of the format {header.get('format')!r}, and {FORMAT} is read here; make "
            "it again, or take the newest Headlight."
        )


# ---------------------------------------------------------------- packing


@dataclass(frozen=True)
class EncodedLayer:
    """The maps of a layer: with all cells, with the strongest of each row, and as pictures."""

    scale: Float[np.ndarray, "head query"]
    codes: UInt8[np.ndarray, "head query key"]
    keys: Int[np.ndarray, "head query cell"]
    pictures: UInt8[np.ndarray, "head row column"]
    largest: list[float]

    def blobs(self, name: str, cells: int | None, whole: Iterable[int]) -> Blobs:
        """By name; ``whole`` are heads that keep all cells."""
        blobs = {f"{name}/scale": deflated(self.scale.astype("<f4"))}
        if cells is None:
            return blobs | {f"{name}/codes": deflated(self.codes)}
        keys = self.keys[..., :cells]
        kept_codes = np.take_along_axis(self.codes, keys, axis=-1)
        blobs |= {
            f"{name}/keys": deflated(keys.astype("<u2")),
            f"{name}/codes": deflated(kept_codes),
            f"{name}/picture": deflated(self.pictures),
        }
        own = (head for head in whole if head < len(self.codes))
        return blobs | {f"{name}/{head}": deflated(self.codes[head]) for head in own}


@dataclass(frozen=True)
class EncodedMeasure:
    """A measure with its layers, and by how much a number may be wrong."""

    row: Measure
    code: Code
    bound: float
    layers: list[EncodedLayer]

    def header(self, cells: int | None, dense: list[Head]) -> dict[str, Any]:
        """Return the header of a measure or product."""
        per = "head" if self.row.per_head else "layer"
        about = {"per": per, "code": self.code, "bound": self.bound, "cells": cells}
        if cells is None:
            return about | {"dense": []}
        chosen = [list(head) for head in dense] if self.row.per_head else []
        return about | {"dense": chosen, "largest": [each.largest for each in self.layers]}


@dataclass(frozen=True)
class Product:
    """A measure that is the product of others.

    Attributes:
        sources: of which; more than one, or one that it is equal to.
        bound: by how much a number may be wrong.
        layers: the maps of a product of several.
    """

    sources: list[str]
    bound: float
    layers: list[NDArray[np.float32]]

    def header(self, cells: int | None) -> dict[str, Any]:
        """Return the header of a measure or product."""
        about = {"per": "head", "from": self.sources, "bound": self.bound}
        if cells is None:
            return about
        return about | {"largest": [largest_of(maps) for maps in self.layers]}


@dataclass(frozen=True)
class EncodedKind:
    """A reading of one kind of attention.

    Attributes:
        part: the reading.
        heads: how many each layer has.
        measures: those that are stored.
        products: those that are products of others, by name, in their place.
    """

    part: xr.Dataset
    heads: list[int]
    measures: dict[str, EncodedMeasure]
    products: dict[str, Product]

    def blobs(self, kind: str, cells: int | None, dense: frozenset[Head]) -> Blobs:
        """By name."""
        blobs: Blobs = {}
        for name, measured in self.measures.items():
            for layer, encoded in enumerate(measured.layers):
                own = sorted(head for each, head in dense if each == layer)
                whole = own if measured.row.per_head else []
                blobs |= encoded.blobs(f"{kind}/{name}/{layer}", cells, whole)
        several = {name: each for name, each in self.products.items() if len(each.sources) > 1}
        lengths = lengths_of(self.part) if several else None
        for layer, number in enumerate(self.heads):
            if lengths is not None:
                name = f"{kind}/vector_norm/{layer}/codes"
                blobs[name] = deflated(lengths[layer, :number].astype("<f4"))
            for name, each in several.items() if cells is not None else ():
                blobs[f"{kind}/{name}/{layer}/picture"] = deflated(pictures(each.layers[layer]))
        return blobs

    def header(self, cells: int | None, dense: list[Head]) -> dict[str, Any]:
        """Return the header of this kind."""
        measures = {name: each.header(cells, dense) for name, each in self.measures.items()}
        measures |= {name: each.header(cells) for name, each in self.products.items()}
        return header_of_kind(self.part, self.heads, measures)


@dataclass(frozen=True)
class EncodedPair:
    """Two readings of one kind of attention; the numbers of both have the same places."""

    first: EncodedKind
    second: EncodedKind
    pair: Matched

    @property
    def measures(self) -> dict[str, EncodedMeasure]:
        """Return the stored measures of both."""
        ends = {f"{name}{SECOND}": each for name, each in self.second.measures.items()}
        return self.first.measures | ends

    @property
    def part(self) -> xr.Dataset:
        """The first."""
        return self.first.part

    @property
    def heads(self) -> list[int]:
        """Return the number of heads in each layer."""
        return self.first.heads

    def blobs(self, kind: str, cells: int | None, dense: frozenset[Head]) -> Blobs:
        """By name; of differences there are pictures alone, where rows keep some cells only."""
        blobs = self.first.blobs(kind, cells, dense)
        blobs |= of_second(self.second.blobs(kind, cells, dense))
        return blobs if cells is None else blobs | difference_pictures(self.pair, kind)

    def header(self, cells: int | None, dense: list[Head]) -> dict[str, Any]:
        """Return the header of this kind."""
        names = self.pair.names if self.pair.same_shape else []
        measures: dict[str, dict[str, Any]] = {name: {} for name in names}
        if cells is not None:
            measures = {name: largest_difference(self.pair, name) for name in measures}
        first, second = self.first.header(cells, dense), self.second.header(cells, dense)
        return header_of_both(first, second, measures, self.pair)


def of_second(blobs: Blobs) -> Blobs:
    """Blobs of a reading as those of the second of two."""
    parts = ((name.split("/", 2), blob) for name, blob in blobs.items())
    return {f"{kind}/{name}{SECOND}/{rest}": blob for (kind, name, rest), blob in parts}


def difference_pictures(pair: Matched, kind: str) -> Blobs:
    """Pictures of the differences of all heads, of models of the same shape."""
    return {
        f"{kind}/{name}{DIFFERENCE}/{layer}/picture": deflated(
            pictures(difference_maps(pair, name, layer))
        )
        for name in (pair.names if pair.same_shape else ())
        for layer in range(len(pair.heads))
    }


def difference_maps(pair: Matched, name: str, layer: int) -> Float[np.ndarray, "head query key"]:
    """The second less the first, of a layer; NaN where one of them has nothing."""
    row = measure(name)
    one, other = (
        part[name].isel(layer=layer).transpose(*row.axes[1:]).values.astype(np.float32)
        for part in (pair.first, pair.second)
    )
    far: NDArray[np.float32] = other - one
    return far[: pair.heads[layer]] if row.per_head else far[None]


def largest_difference(pair: Matched, name: str) -> dict[str, Any]:
    """Return the header of a difference that has pictures."""
    layers = range(len(pair.heads))
    return {"largest": [largest_of(difference_maps(pair, name, layer)) for layer in layers]}


def _encoded_kinds(
    reading: xr.Dataset, second: xr.Dataset | None
) -> Mapping[str, EncodedKind | EncodedPair]:
    if second is None:
        return {kind: _encoded(part) for kind, part in split_kinds(reading).items()}
    return {
        kind: EncodedPair(_encoded(pair.first, pair.heads), _encoded(pair.second, pair.heads), pair)
        for kind, pair in matched(reading, second).items()
    }


def _placed(head: Head, kinds: Mapping[str, EncodedKind | EncodedPair]) -> Head:
    """The place of a layer among those that were read, and the head."""
    layer, number = head
    for part in kinds.values():
        layers = part.part["layer"].values.tolist()
        if layer in layers and 0 <= number < part.heads[layers.index(layer)]:
            return layers.index(layer), number
    raise UsageError(f"there is no head {head_name(layer, number)} in this reading; choose others.")


def _least(kinds: Mapping[str, EncodedKind | EncodedPair]) -> float:
    """Less than what all cells need, so that it need not be tried."""
    cells = (
        layer.codes.size
        for part in kinds.values()
        for measured in part.measures.values()
        for layer in measured.layers
    )
    return sum(cells) / 4


def _encoded(part: xr.Dataset, heads: list[int] | None = None) -> EncodedKind:
    heads = heads or heads_of(part)
    measures: dict[str, EncodedMeasure] = {}
    products: dict[str, Product] = {}
    for row in pairwise_rows(part):
        values = cells_of(part, row.name)
        if sources := sources_of(part, row.name, values):
            bound = _bound_of(values, sources, measures["weight"], part)
            maps = [values[layer, :number] for layer, number in enumerate(heads)]
            products[row.name] = Product(sources, bound, maps)
        else:
            measures[row.name] = _encoded_measure(values, heads, row)
    return EncodedKind(part, heads, measures, products)


def pairwise_rows(part: xr.Dataset) -> list[Measure]:
    """The measures of pairs of positions that it has."""
    return [row for row in measure_table() if row.pairwise and row.name in part]


def heads_of(part: xr.Dataset) -> list[int]:
    """Return the number of heads in each layer; those that a layer lacks are NaN."""
    per_head = next(row.name for row in measure_table() if row.name in part and row.per_head)
    exists = np.isfinite(cells_of(part, per_head)).any((-1, -2))
    return [int(number) for number in exists.sum(-1)]


def cells_of(part: xr.Dataset, name: str) -> Float[np.ndarray, "layer *head query key"]:
    """A measure, over its axes."""
    return np.asarray(part[name].transpose(*measure(name).axes).values, dtype=np.float32)


def sources_of(part: xr.Dataset, name: str, values: NDArray[np.float32]) -> list[str]:
    """The measures whose product it is, so that it needs no room of its own."""
    if name == "norm" and {"weight", "vector_norm"} <= set(part):
        lengths = part["vector_norm"].transpose("layer", "head", "key").values
        least = 1e-6 * np.nanmax(np.abs(values), initial=0)
        if all(
            np.allclose(weight * length[:, None], norm, rtol=1e-3, atol=least, equal_nan=True)
            for weight, length, norm in zip(cells_of(part, "weight"), lengths, values, strict=True)
        ):
            return ["weight", "vector_norm"]
    if name == "effective" and "weight" in part and all(equal_layers(part)):
        return ["weight"]
    return []


def _bound_of(
    values: Float[np.ndarray, "layer head query key"],
    sources: Sequence[str],
    weight: EncodedMeasure,
    part: xr.Dataset,
) -> float:
    """By how much a product of what is stored may be wrong."""
    lengths = lengths_of(part) if len(sources) > 1 else None
    worst = 0.0
    for layer, encoded in enumerate(weight.layers):
        decoded = decode(encoded.codes, encoded.scale, weight.code)
        if lengths is not None:
            decoded = decoded * lengths[layer, : len(decoded), None]
        far = np.abs(decoded - values[layer, : len(decoded)])
        worst = max(worst, float(np.nanmax(far, initial=0)))
    return worst


def lengths_of(part: xr.Dataset) -> Float[np.ndarray, "layer head key"]:
    """The lengths of vectors, as they are stored."""
    return shortened(part["vector_norm"].transpose("layer", "head", "key").values)


def _encoded_measure(
    values: Float[np.ndarray, "layer *head query key"], heads: Sequence[int], row: Measure
) -> EncodedMeasure:
    code: Code = "signed" if row.signed else "sqrt"
    worst, layers = 0.0, []
    for layer, number in enumerate(heads):
        maps = values[layer, :number] if row.per_head else values[layer][None]
        scale, codes = encode(maps, code)
        worst = max(worst, float(np.nanmax(np.abs(decode(codes, scale, code) - maps), initial=0)))
        kept_keys = strongest(maps, max(CELLS))
        layers.append(EncodedLayer(scale, codes, kept_keys, pictures(maps), largest_of(maps)))
    return EncodedMeasure(row, code, worst, layers)


def largest_of(maps: Float[np.ndarray, "head query key"]) -> list[float]:
    """The largest size of each head."""
    return [float(f"{value:.4g}") for value in np.nanmax(np.abs(maps), axis=(1, 2), initial=0)]


def deflated(array: NDArray[Any], level: int = 6) -> bytes:
    """An array as a blob."""
    return gzip.compress(np.ascontiguousarray(array).tobytes(), level, mtime=0)


# ---------------------------------------------------------------- unpacking


def _unpacked(
    kind: str, part: Mapping[str, Any], get: Callable[[str], bytes], end: str
) -> xr.Dataset:
    """One kind of attention; ``end`` is what the measures of this reading end in."""
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
        f"{side}_{one}": (side, positions[many])
        for side, positions in (("query", part["queries"]), ("key", part["keys"]))
        for one, many in _OF_TOKENS.items()
        if many in positions
    }
    coordinates["layer"] = part["layers"]
    if "places" in part["queries"]:
        coordinates["query"] = part["queries"]["places"]
    whole = xr.Dataset(variables, coords=coordinates)
    return _one_of_two(whole, part, end) if "of" in part["queries"] else whole


def _one_of_two(whole: xr.Dataset, part: Mapping[str, Any], end: str) -> xr.Dataset:
    """One of two readings without the tokens, layers and heads of the other."""
    other = "first" if end else "second"
    own = {
        side: [at for at, of in enumerate(part[many]["of"]) if of != other]
        for side, many in (("query", "queries"), ("key", "keys"))
    }
    if end:
        for side, many in (("query", "queries"), ("key", "keys")):
            tokens = list(part[many]["tokens"])
            for at, token in part[many]["instead"].items():
                tokens[int(at)] = token
            whole = whole.assign_coords({f"{side}_token": (side, tokens)})
    return whole.isel(own).dropna("layer", how="all").dropna("head", how="all")


def _measures_of(part: Mapping[str, Any], end: str) -> dict[str, Mapping[str, Any]]:
    """Return the measures of a header: those of the first reading, or of the second."""
    every: dict[str, Mapping[str, Any]] = part["measures"]
    if not end:
        others = (SECOND, DIFFERENCE)
        return {name: about for name, about in every.items() if not name.endswith(others)}
    return {name.removesuffix(end): about for name, about in every.items() if name.endswith(end)}


def _joined(name: str, maps: Sequence[NDArray[np.float32]]) -> xr.DataArray:
    """Layers as one array; those with fewer heads are filled up with NaN."""
    heads = max(len(each) for each in maps)
    filled = [
        np.pad(
            each,
            [(0, heads - len(each)), *[(0, 0)] * (each.ndim - 1)],
            constant_values=np.nan,
        )
        for each in maps
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
    whole = np.full((number, *shape), ABSENT, dtype=np.uint8)
    cells = min(about["cells"], shape[1])
    keys = _inflated(get(f"{name}/keys"), "<u2").reshape(number, shape[0], cells)
    np.put_along_axis(whole, keys.astype(np.int64), codes.reshape(number, shape[0], cells), axis=-1)
    layer = int(name.rpartition("/")[2])
    for _, head in (each for each in about["dense"] if each[0] == layer and each[1] < number):
        whole[head] = _inflated(get(f"{name}/{head}"), "u1").reshape(shape)
    return decode(whole, scale, about["code"])


def _inflated(blob: bytes, kind: str) -> NDArray[Any]:
    return np.frombuffer(gzip.decompress(blob), dtype=kind)


def header_text(view: View) -> str:
    """The header as compact JSON."""
    return json.dumps(view.header, ensure_ascii=False, separators=(",", ":"))
