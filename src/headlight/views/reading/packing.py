"""Packing of a reading, or of two, as header and blobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.result.kinds import split_kinds
from headlight.views.reading.codes import (
    Code,
    decode,
    encode,
    largest_of,
    pictures,
    shortened,
    strongest,
)
from headlight.views.reading.format import SECOND, Blobs, Head, View, deflated
from headlight.views.reading.headers import header_of, header_of_kind
from headlight.views.reading.matched_readings import Matched, matched
from headlight.views.reading.pair_differences import (
    difference_pictures,
    largest_difference,
    of_second,
)
from headlight.views.reading.pair_header import header_of_both
from headlight.views.reading.pairwise_measures import cells_of, heads_of, pairwise_rows, sources_of
from headlight.vocabulary import Measure, head_name

CELLS = (32, 16, 8, 4)
"""Numbers of cells of a row that may be kept, the largest first; the first that fits is taken."""


def pack(
    reading: xr.Dataset,
    *,
    second: xr.Dataset | None = None,
    megabytes: float | None = None,
    whole_heads: Iterable[Head] = (),
) -> View:
    """Pack one or two readings as header and blobs.

    Args:
        reading: Reading of one kind of attention, or of several.
        second: Reading that it is compared with, of the same kinds.
        megabytes: Maximum size of the blobs as text; rows keep their strongest cells only where
            all cells exceed it. By default everything is kept.
        whole_heads: Layers, as the model counts them, and heads that keep all cells even then.

    Raises:
        UsageError: Such a head is not in the reading, or the second is of other kinds.
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


@dataclass(frozen=True)
class EncodedLayer:
    """Maps of a layer: with all cells, with the strongest of each row, and as pictures."""

    scale: Float[np.ndarray, "head query"]
    codes: UInt8[np.ndarray, "head query key"]
    keys: Int[np.ndarray, "head query cell"]
    pictures: UInt8[np.ndarray, "head row column"]
    largest: list[float]

    def blobs(self, name: str, cells: int | None, whole: Iterable[int]) -> Blobs:
        """Return blobs by name; ``whole`` are heads that keep all cells."""
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
        # Layers may have different numbers of heads.
        present = (head for head in whole if head < len(self.codes))
        return blobs | {f"{name}/{head}": deflated(self.codes[head]) for head in present}


@dataclass(frozen=True)
class EncodedMeasure:
    """Measure with its layers and its error bound."""

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
        return about | {"dense": chosen, "largest": [layer.largest for layer in self.layers]}


@dataclass(frozen=True)
class Product:
    """Measure that is the product of others.

    Attributes:
        sources: Names of the factors, or of the single measure that it is equal to.
        bound: Error bound of a number.
        layers: Maps of the product, by layer.
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
    """Encoded reading of one kind of attention.

    Attributes:
        part: Reading of this kind.
        heads: Numbers of heads in the layers.
        measures: Stored measures, by name.
        products: Measures that are products of others and stand in their place, by name.
    """

    part: xr.Dataset
    heads: list[int]
    measures: dict[str, EncodedMeasure]
    products: dict[str, Product]

    def blobs(self, kind: str, cells: int | None, dense: frozenset[Head]) -> Blobs:
        """Return blobs by name."""
        blobs: Blobs = {}
        for name, measured in self.measures.items():
            for layer, encoded in enumerate(measured.layers):
                of_layer = sorted(head for place, head in dense if place == layer)
                whole = of_layer if measured.row.per_head else []
                blobs |= encoded.blobs(f"{kind}/{name}/{layer}", cells, whole)
        several = {
            name: product for name, product in self.products.items() if len(product.sources) > 1
        }
        lengths = lengths_of(self.part) if several else None
        for layer, number in enumerate(self.heads):
            if lengths is not None:
                name = f"{kind}/vector_norm/{layer}/codes"
                blobs[name] = deflated(lengths[layer, :number].astype("<f4"))
            if cells is not None:
                for name, product in several.items():
                    maps = product.layers[layer]
                    blobs[f"{kind}/{name}/{layer}/picture"] = deflated(pictures(maps))
        return blobs

    def header(self, cells: int | None, dense: list[Head]) -> dict[str, Any]:
        """Return the header of this kind."""
        measures = {name: stored.header(cells, dense) for name, stored in self.measures.items()}
        measures |= {name: product.header(cells) for name, product in self.products.items()}
        return header_of_kind(self.part, self.heads, measures)


@dataclass(frozen=True)
class EncodedPair:
    """Encoded pair of readings of one kind of attention; both have the same places."""

    first: EncodedKind
    second: EncodedKind
    pair: Matched

    @property
    def measures(self) -> dict[str, EncodedMeasure]:
        """Stored measures of both readings."""
        seconds = {f"{name}{SECOND}": stored for name, stored in self.second.measures.items()}
        return self.first.measures | seconds

    @property
    def part(self) -> xr.Dataset:
        """First reading."""
        return self.first.part

    @property
    def heads(self) -> list[int]:
        """Numbers of heads in the layers."""
        return self.first.heads

    def blobs(self, kind: str, cells: int | None, dense: frozenset[Head]) -> Blobs:
        """Return blobs by name; differences have pictures alone, if rows keep only some cells."""
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
    """Return the place of a layer among those that were read, and the head."""
    layer, number = head
    for part in kinds.values():
        layers = part.part["layer"].values.tolist()
        if layer in layers and 0 <= number < part.heads[layers.index(layer)]:
            return layers.index(layer), number
    raise UsageError(f"there is no head {head_name(layer, number)} in this reading; choose others.")


def _least(kinds: Mapping[str, EncodedKind | EncodedPair]) -> float:
    """Return a lower bound on the size of all cells, below which packing them need not be tried."""
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


def _bound_of(
    values: Float[np.ndarray, "layer head query key"],
    sources: Sequence[str],
    weight: EncodedMeasure,
    part: xr.Dataset,
) -> float:
    """Return the error bound of a product of stored measures."""
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
    """Return the lengths of vectors, as they are stored."""
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
