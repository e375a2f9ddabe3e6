"""Reading of one example: every measure of every head, kept while the model runs."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.attribution import attribute
from headlight.capture.captured_model import shortened
from headlight.capture.one_text import capture_one
from headlight.catalogue.question_settings import ReadingSettings
from headlight.encode import Encoded
from headlight.encode.special_tokens import Assembly
from headlight.reading.layer_measures import Measured, Part, ReadLayers, part_of
from headlight.reading.origin import origin
from headlight.reading.reading import Reading
from headlight.reading.token_coordinates import Positions, sides_of
from headlight.result.kinds import ALL, concat_kinds
from headlight.studies.survey.text_statistics import TextStatistics
from headlight.vocabulary import measure_table

Progress = Callable[[int, int], None]
"""Function of the number of finished layers and of all layers; its exception ends the reading."""


def read_example(
    model: CapturedModel,
    example: Encoded,
    settings: ReadingSettings,
    *,
    attributes: Mapping[str, Any],
    progress: Progress | None = None,
) -> Reading:
    """Read an example that is made already, with the part of the model that reads it.

    Args:
        model: Model that reads.
        example: Example that the model reads.
        settings: Settings of the reading.  With the kind ``all`` the model runs once, and the
            reading keeps its kinds apart; of a long text with some queries, memory holds some rows
            at a time, never a whole layer.
        attributes: Attributes of the reading: ``text``, ``pair`` and ``command``.
        progress: Function that is told of finished layers.

    Raises:
        UsageError: No such kind, layer, head or position.
        UnsupportedModelError: The attention of the model cannot be captured exactly, or a layer
            whose residual is requested could not be followed.
    """
    kinds = model.kinds if settings.kind == ALL else (settings.kind or model.kinds[0],)
    by_kind = {kind: model.sites_of(kind, settings.layers) for kind in kinds}
    sites = [site for sites_of_kind in by_kind.values() for site in sites_of_kind]
    sides = {kind: sides_of(example, kind, model.tokenizer) for kind in kinds}
    parts = {
        kind: part_of(sites_of_kind, len(sides[kind][0]["token"]), settings)
        for kind, sites_of_kind in by_kind.items()
    }
    contributions = None
    if settings.contributions is not None:
        # Before the capture below: contributions run the model themselves, with gradients.
        batch = model.collate([example])
        contributions = attribute(model, batch, settings.contributions, kind=kinds[0]).contribution
    counted = _counted(len(sites), progress)
    layers_read = ReadLayers(parts, settings.value_bias, contributions, counted)
    if settings.residual:
        model.verify_residuals(model.collate([shortened(example)]), sites)
    statistics = {
        kind: TextStatistics(model, example, kind, sites_of_kind, settings.value_bias)
        for kind, sites_of_kind in by_kind.items()
    }

    def visit(record: LayerRecord) -> None:
        statistics[record.site.kind].visit(record)
        layers_read.visit(record)

    capture_one(model, example, sites, visit, query_block=None, residual=settings.residual)
    signature = settings.contributions.signature() if settings.contributions else None
    attributes_of_all = origin(
        model,
        **attributes,
        title="Reading",
        stage="reading",
        **_counts(example, model.tokenizer, model.decoder_start),
        attribution=json.dumps(signature) if signature else "",
    )
    datasets: dict[str, xarray.Dataset] = {
        kind: model.with_coordinates(
            _dataset(
                {site.layer: seen for site, seen in layers_read.seen.items() if site.kind == kind},
                parts[kind],
                *sides[kind],
                {
                    **attributes_of_all,
                    "kind": kind,
                    "head_dim": min(site.head_dim for site in by_kind[kind]),
                },
                statistics[kind],
            ),
            kind,
        )
        for kind in kinds
    }
    return Reading(concat_kinds(datasets) if settings.kind == ALL else datasets[kinds[0]])


def _counted(layers: int, progress: Progress | None) -> Callable[[], None]:
    """Return a function that reports one more finished layer."""
    finished = 0

    def count() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, layers)

    return count


def _counts(example: Encoded, tokenizer: Any, start: int | None) -> dict[str, Any]:
    """Count the tokens, the unknown ones, and the special ones that the text itself writes."""
    ids = (*example.ids, *example.target)
    if tokenizer is None:
        return {"tokens": len(ids)}
    marks = Assembly.from_tokenizer(tokenizer, start).marks
    special, doubled = marks.written(example)
    written = {"special": special, "doubled": int(doubled)} if special else {}
    return {"tokens": len(ids), "unknown": ids.count(marks.unknown), **written}


def _dataset(
    by_layer: Mapping[int, Measured],
    part: Part,
    queries: Positions,
    keys: Positions,
    attributes: dict[str, Any],
    statistics: TextStatistics,
) -> xarray.Dataset:
    layers, measured = list(by_layer), list(by_layer.values())
    variables = {
        row.name: (
            row.axes,
            np.stack([seen[row.name] for seen in measured]),
            {"long_name": row.title, "units": row.unit},
        )
        for row in measure_table()
        if all(row.name in seen for seen in measured)
    }
    numbers, axes = statistics.variables(part.heads)
    coordinates: dict[str, Any] = {"layer": layers, "head": part.heads, **axes}
    everything = range(len(keys["token"]))
    for side, positions, places in (("query", queries, part.queries), ("key", keys, everything)):
        coordinates[side] = list(places)
        for name, values in positions.items():
            coordinates[f"{side}_{name}"] = (side, [values[at] for at in places])
    return xarray.Dataset(variables | numbers, coords=coordinates, attrs=attributes)
