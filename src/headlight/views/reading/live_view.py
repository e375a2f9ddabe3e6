"""Reading for a host that gives blobs on request: an app, or a notebook's kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.errors import UnknownNameError
from headlight.findings.equal_measures import SAME
from headlight.result.kinds import split_kinds
from headlight.views.reading.codes import WORST, Code, encode, largest_of, pictures, shortened
from headlight.views.reading.format import SECOND, Blobs, deflated
from headlight.views.reading.headers import header_of, header_of_kind
from headlight.views.reading.matched_readings import Matched, matched
from headlight.views.reading.pair_differences import (
    difference_pictures,
    largest_difference,
    of_second,
)
from headlight.views.reading.pair_header import header_of_both
from headlight.views.reading.pairwise_measures import cells_of, heads_of, pairwise_rows, sources_of
from headlight.vocabulary import Measure, measure

LENGTH = "vector_norm"
QUICK = 1
"""The level of compression; more of it saves little, and is waited for."""

OnProgress = Callable[[str], None]


class LiveView:
    """Reading in the format of `headlight.views.reading.format`, whose layers are packed lazily.

    The header and the pictures of all heads are made at once. All cells of a layer are packed when
    they are requested, so that long texts cost only what is viewed. The bounds are those that no
    number can exceed, since measuring them would mean to pack everything.

    Args:
        reading: Reading of one kind of attention, or of several.
        second: Reading that it is compared with, of the same kinds.
        on_progress: Function called with the name of the next step; may raise to end it.

    Attributes:
        header: Header of the view; ``live`` is true.
        pictures: Blobs of the pictures of all heads.
    """

    def __init__(
        self,
        reading: xr.Dataset,
        *,
        second: xr.Dataset | None = None,
        on_progress: OnProgress = lambda _: None,
    ) -> None:
        self._kinds: dict[str, _LiveKind | _LivePair] = {}
        if second is None:
            parts = split_kinds(reading)
            self._kinds |= {kind: _LiveKind.from_part(part) for kind, part in parts.items()}
        else:
            pairs = matched(reading, second)
            self._kinds |= {kind: _LivePair.from_pair(pair) for kind, pair in pairs.items()}
        self.pictures: Blobs = {}
        headers: dict[str, Any] = {}
        for kind, live in self._kinds.items():
            headers[kind], blobs = live.header(kind, on_progress)
            self.pictures |= blobs
        self.header = header_of(reading, headers, second) | {"live": True}

    def blob(self, name: str) -> bytes:
        """Return a blob by its name, deflated.

        Raises:
            UnknownNameError: There is none of that name.
        """
        if name in self.pictures:
            return self.pictures[name]
        kind, *parts = name.split("/")
        live = self._kinds.get(kind)
        blob = live.blob(*parts) if live is not None and len(parts) == 3 else None
        if blob is None:
            # The name comes from a browser, and may be of any length.
            raise UnknownNameError("blob", name[:100], self._kinds)
        return blob


@dataclass(frozen=True)
class _LiveKind:
    """Reading of one kind of attention; ``sources`` are those of products, by name."""

    part: xr.Dataset
    heads: list[int]
    sources: Mapping[str, list[str]]

    @classmethod
    def from_part(cls, part: xr.Dataset, heads: list[int] | None = None) -> "_LiveKind":
        rows = pairwise_rows(part)
        inputs = {row.name: sources_of(part, row.name, cells_of(part, row.name)) for row in rows}
        sources = {name: factors for name, factors in inputs.items() if factors}
        return cls(part, heads or heads_of(part), sources)

    def header(self, kind: str, on_progress: OnProgress) -> tuple[dict[str, Any], Blobs]:
        """Return the header of this kind, and the pictures of all heads."""
        measures: dict[str, dict[str, Any]] = {}
        all_blobs: Blobs = {}
        for row in pairwise_rows(self.part):
            on_progress(row.short)
            measures[row.name], blobs = self.overview(kind, row)
            all_blobs |= blobs
        on_progress("statistics")
        return header_of_kind(self.part, self.heads, measures), all_blobs

    def overview(self, kind: str, row: Measure) -> tuple[dict[str, Any], Blobs]:
        """Return the header of a measure, and the pictures of its heads."""
        maps = [self._maps(row.name, layer) for layer in range(len(self.heads))]
        largest = [largest_of(heads) for heads in maps]
        about: dict[str, Any] = {"per": "head" if row.per_head else "layer"}
        sources = self.sources.get(row.name)
        if sources:
            about |= {"from": sources, "bound": self._bound_of_product(row.name)}
        else:
            worst = WORST[_code_of(row)] * max(map(max, largest))
            about |= {"code": _code_of(row), "bound": worst, "cells": None, "dense": []}
        blobs: Blobs = {}
        if sources is None or len(sources) > 1:
            blobs = {
                f"{kind}/{row.name}/{layer}/picture": deflated(pictures(heads))
                for layer, heads in enumerate(maps)
            }
        return about | {"largest": largest}, blobs

    def blob(self, name: str, layer: str, part: str) -> bytes | None:
        """Return codes or scale of a layer, for `LENGTH` the numbers; None where there are none."""
        place = int(layer) if layer.isdecimal() else -1
        if not 0 <= place < len(self.heads) or part not in ("codes", "scale"):
            return None
        if name == LENGTH and part == "codes":
            return deflated(self._lengths(place).astype("<f4"), QUICK)
        row = next((row for row in pairwise_rows(self.part) if row.name == name), None)
        if row is None or name in self.sources:
            return None
        scale, codes = encode(self._maps(name, place), _code_of(row))
        return deflated(codes if part == "codes" else scale.astype("<f4"), QUICK)

    def _maps(self, name: str, layer: int) -> Float[np.ndarray, "head query key"]:
        row = measure(name)
        values = self.part[name].isel(layer=layer).transpose(*row.axes[1:]).values
        maps = np.asarray(values, dtype=np.float32)
        return maps[: self.heads[layer]] if row.per_head else maps[None]

    def _lengths(self, layer: int) -> NDArray[np.float32]:
        values = self.part[LENGTH].isel(layer=layer).transpose("head", "key").values
        return shortened(values[: self.heads[layer]])

    def _bound_of_product(self, name: str) -> float:
        """Return the error bound of the weight times the length; lengths are rounded as well."""
        worst = [0.0]
        for layer in range(len(self.heads)):
            step = WORST["sqrt"] * float(np.nanmax(self._maps("weight", layer), initial=0))
            if len(self.sources[name]) == 1:
                worst.append(step + SAME)
                continue
            # `shortened` leaves 11 bits of the fraction of a length.
            rounded = float(np.nanmax(self._maps(name, layer), initial=0)) * 2**-11
            worst.append(step * float(np.nanmax(self._lengths(layer), initial=0)) + rounded)
        return max(worst)


@dataclass(frozen=True)
class _LivePair:
    """Pair of readings of one kind of attention."""

    first: _LiveKind
    second: _LiveKind
    pair: Matched

    @classmethod
    def from_pair(cls, pair: Matched) -> "_LivePair":
        first, second = (
            _LiveKind.from_part(part, pair.heads) for part in (pair.first, pair.second)
        )
        return cls(first, second, pair)

    def header(self, kind: str, on_progress: OnProgress) -> tuple[dict[str, Any], Blobs]:
        """Return the header of this kind, and the pictures of all heads."""
        first, blobs = self.first.header(kind, on_progress)
        second, others = self.second.header(kind, on_progress)
        on_progress("differences")
        names = self.pair.names if self.pair.same_shape else []
        differences = {name: largest_difference(self.pair, name) for name in names}
        blobs = blobs | of_second(others) | difference_pictures(self.pair, kind)
        return header_of_both(first, second, differences, self.pair), blobs

    def blob(self, name: str, layer: str, part: str) -> bytes | None:
        """Return codes or scale of a layer of the first or second reading; None if absent."""
        if name.endswith(SECOND):
            return self.second.blob(name.removesuffix(SECOND), layer, part)
        return self.first.blob(name, layer, part)


def _code_of(row: Measure) -> Code:
    return "signed" if row.signed else "sqrt"
