"""A reading for a host that gives blobs when they are asked for: an app, or a notebook's kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.catalogue import Statistic
from headlight.errors import UnknownNameError, UsageError
from headlight.findings import highlights
from headlight.findings.estimates import estimates
from headlight.findings.statistics import SAME, statistics_of
from headlight.result.kinds import split_kinds
from headlight.views.head_numbers import numbers_as_json
from headlight.views.reading.format import (
    Blobs,
    cells_of,
    deflated,
    difference_pictures,
    header_of,
    header_of_kind,
    heads_of,
    largest_difference,
    largest_of,
    of_second,
    pairwise_rows,
    sources_of,
)
from headlight.views.reading.pair import SECOND, Matched, header_of_both, matched
from headlight.views.reading.serial import WORST, Code, encode, pictures, shortened
from headlight.vocabulary import Measure, head_name, measure

LENGTH = "vector_norm"
QUICK = 1
"""The level of compression; more of it saves little, and is waited for."""

OnProgress = Callable[[str], None]


class LiveView:
    """A reading in the format of `headlight.views.reading.format`, whose layers are packed lazily.

    The header and the pictures of all heads are made at once. All cells of a layer are packed when
    they are asked for, so that long texts cost what is looked at. The bounds are those that no
    number can exceed, since measuring them would mean to pack everything.

    Args:
        reading: of one kind of attention, or of several.
        second: what it is compared with, of the same kinds.
        on_progress: called with the name of what is done next; may raise to end it.

    Attributes:
        header: of the view; ``live`` is true.
        pictures: blobs of the pictures of all heads.
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
            self._kinds |= {kind: _LiveKind.of(part) for kind, part in parts.items()}
        else:
            pairs = matched(reading, second)
            self._kinds |= {kind: _LivePair.of(pair) for kind, pair in pairs.items()}
        self.pictures: Blobs = {}
        headers: dict[str, Any] = {}
        for kind, own in self._kinds.items():
            headers[kind], blobs = own.header(kind, on_progress)
            self.pictures |= blobs
        self.header = header_of(reading, headers, second) | {"live": True}

    def blob(self, name: str) -> bytes:
        """A blob by its name, deflated.

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name in self.pictures:
            return self.pictures[name]
        kind, *parts = name.split("/")
        own = self._kinds.get(kind)
        blob = own.blob(*parts) if own is not None and len(parts) == 3 else None
        if blob is None:
            raise UnknownNameError("blob", name[:100], self._kinds)
        return blob


@dataclass(frozen=True)
class _LiveKind:
    """A reading of one kind of attention; ``sources`` are those of products, by name."""

    part: xr.Dataset
    heads: list[int]
    sources: Mapping[str, list[str]]

    @classmethod
    def of(cls, part: xr.Dataset, heads: list[int] | None = None) -> "_LiveKind":
        rows = pairwise_rows(part)
        inputs = {row.name: sources_of(part, row.name, cells_of(part, row.name)) for row in rows}
        sources = {name: each for name, each in inputs.items() if each}
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
        largest = [largest_of(each) for each in maps]
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
                f"{kind}/{row.name}/{layer}/picture": deflated(pictures(each))
                for layer, each in enumerate(maps)
            }
        return about | {"largest": largest}, blobs

    def blob(self, name: str, layer: str, part: str) -> bytes | None:
        """Codes or scale of a layer, of `LENGTH` the numbers; None where there is none."""
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
        """The most that the weight may be wrong, times the length; lengths are rounded as well."""
        worst = [0.0]
        for layer in range(len(self.heads)):
            step = WORST["sqrt"] * float(np.nanmax(self._maps("weight", layer), initial=0))
            if len(self.sources[name]) == 1:
                worst.append(step + SAME)
                continue
            rounded = float(np.nanmax(self._maps(name, layer), initial=0)) * 2**-11
            worst.append(step * float(np.nanmax(self._lengths(layer), initial=0)) + rounded)
        return max(worst)


@dataclass(frozen=True)
class _LivePair:
    """Two readings of one kind of attention."""

    first: _LiveKind
    second: _LiveKind
    pair: Matched

    @classmethod
    def of(cls, pair: Matched) -> "_LivePair":
        first, second = (_LiveKind.of(part, pair.heads) for part in (pair.first, pair.second))
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
        """Codes or scale of a layer, of the first or of the second; None where there is none."""
        if name.endswith(SECOND):
            return self.second.blob(name.removesuffix(SECOND), layer, part)
        return self.first.blob(name, layer, part)


def _code_of(row: Measure) -> Code:
    return "signed" if row.signed else "sqrt"


FEWEST_WORDS = 10
"""A relation of fewer words says nothing about a head."""


@dataclass(frozen=True)
class InCorpus:
    """Results of the same model over a corpus.

    Attributes:
        survey: of `headlight.survey`, or None.
        dependency: of `headlight.dependency`, or None.
        report: address of the survey's report, as seen from the page; empty for none.
    """

    survey: xr.Dataset | None = None
    dependency: xr.Dataset | None = None
    report: str = ""


def with_corpus(
    header: Mapping[str, Any], revision: str, corpus: InCorpus | None
) -> dict[str, Any]:
    """The header of a view with what was found over a corpus beside what the text has.

    Args:
        header: see `headlight.views.reading.format`.
        revision: of the model that read the text.
        corpus: None for nothing.

    Raises:
        UsageError: a result is of another study, or of another model.
    """
    if corpus is None:
        return dict(header)
    _check(corpus.survey, "survey", revision)
    _check(corpus.dependency, "dependency", revision)
    kinds = {kind: dict(part) for kind, part in header["kinds"].items()}
    for kind, part in kinds.items():
        survey = _of_kind(corpus.survey, kind)
        if survey is not None:
            part["statistics"] = _beside(part, survey)
            part["findings"] = _findings(survey)
        relations = _of_kind(corpus.dependency, kind)
        if relations is not None:
            part["statistics"] = [*part["statistics"], *_relations(relations, part)]
    return {**header, "kinds": kinds, "report": corpus.report}


def _check(result: xr.Dataset | None, stage: str, revision: str) -> None:
    if result is None:
        return
    if result.attrs.get("stage") != stage:
        raise UsageError(
            f"this is a result of {result.attrs.get('stage')}, where one of {stage} is needed; "
            "give the folder of such a run."
        )
    actual = str(result.attrs.get("revision", ""))
    if actual != revision:
        raise UsageError(
            f"the {stage} is of another model ({actual}) than the text ({revision}); read the text "
            "with the model of the run."
        )


def _of_kind(result: xr.Dataset | None, kind: str) -> xr.Dataset | None:
    return None if result is None else split_kinds(result).get(kind)


def _beside(part: Mapping[str, Any], survey: xr.Dataset) -> list[dict[str, Any]]:
    """The statistics of the text, each with that of the corpus."""
    rows = {
        row["name"]: row["by"]
        for row in numbers_as_json(survey, statistics_of(survey), _places(part))
    }
    return [
        {
            **row,
            "corpus": {
                name: rows[row["name"]][name]
                for name in row["by"]
                if name in rows.get(row["name"], ())
            },
        }
        for row in part["statistics"]
    ]


def _places(part: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Layers and heads of the text, in the order of its statistics."""
    layers = zip(part["layers"], part["heads"], strict=True)
    return [(layer, head) for layer, heads in layers for head in range(heads)]


def _findings(survey: xr.Dataset) -> dict[str, list[str]]:
    """The sentences about each head, by its name."""
    sentences_by_head: dict[str, list[str]] = {}
    for each in highlights(survey):
        if each.layer is not None and each.head is not None:
            sentences_by_head.setdefault(head_name(each.layer, each.head), []).append(each.text)
    return sentences_by_head


def _relations(result: xr.Dataset, part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the accuracy of each head at relations, by its better direction."""
    of_best = _better_direction(result)
    counts = result["count"]
    counts = counts.max([dim for dim in counts.dims if dim != "relation"])
    names = [str(name) for name in result["relation"].values]
    frequent = [name for name in names if float(counts.sel(relation=name)) >= FEWEST_WORDS]
    measures = [str(name) for name in result["measure"].values if name in part["measures"]]
    rows = []
    for name in sorted(frequent):
        row = Statistic(name=f"relation {name}", short=name, title=name)
        by = {
            each: estimates(of_best.sel(relation=name), "accuracy", measure=each)
            for each in measures
        }
        rows.append((row, by))
    numbers = numbers_as_json(of_best, rows, _places(part))
    return [{**row, "relation": True} for row in numbers]


def _better_direction(result: xr.Dataset) -> xr.Dataset:
    """Return the accuracy of each head in its better direction, and its interval."""
    better = result["accuracy"].fillna(-1).argmax("direction")
    if "low" in result:
        result = result.rename(low="accuracy_low", high="accuracy_high")
    names = ("accuracy", "accuracy_low", "accuracy_high")
    return result.drop_vars([each for each in result if each not in names]).isel(direction=better)
