"""Export of a survey for HeadVis: the folder of data that its front end reads.

The folder is served with that front end (Luger, Kamath et al. 2026), as its ``data``:
``config.json``, ``scatter_data.json`` with six numbers of every head, and a file for each head in
``heads``.  Its files are described with the pipeline of Neuronpedia, which writes them from a
model; here they are made of a survey, which keeps one query of each text, and exact sums over the
corpus for distances and tokens.  Five of the six numbers are those of the pipeline; in its
induction score shares below 0.01 count as 0, here all count.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from headlight.errors import UsageError, setting
from headlight.findings.variables import observed, surveyed
from headlight.result.kinds import split_for_display
from headlight.views.head_numbers import HeadDetails, head_places, texts_of
from headlight.views.titles import Subject
from headlight.vocabulary import DISTANCES, head_name

MEASURE = "weight"
BINS = 20
"""Number of bins of the strongest links of texts, from 0 to 1."""

_METRICS: dict[str, tuple[str, dict[str, str | int], int, str]] = {
    "self_attention_score": (
        "relative_share",
        {"relative": 0},
        1,
        "Mean share of its attention that a token gives to itself.",
    ),
    "prev_token_score": (
        "relative_share",
        {"relative": -1},
        1,
        "Mean share that goes to the token before; for the first token it is 0.",
    ),
    "pattern_entropy": (
        "entropy",
        {"query_category": "all"},
        1,
        "Mean entropy of a row, in nats.",
    ),
    "qk_distance": ("distance_mean", {}, 1, "Mean distance of query and key, by attention."),
    "qk_distance_variance": ("distance_std", {}, 2, "Variance of that distance."),
    "induction_score": (
        "behaviour_share",
        {"behaviour": "induction"},
        1,
        "Mean share that goes to what followed the same token before.",
    ),
}
"""Numbers as HeadVis defines them: variable, place in it, power, and what it says."""


def check_headvis(result: xr.Dataset) -> None:
    """Refuse a survey of which HeadVis could show nothing.

    Raises:
        UsageError: weights were not surveyed, or queries and keys are always of different texts.
    """
    if MEASURE not in [row.name for row in surveyed(result)]:
        raise UsageError(
            "HeadVis shows attention weights, which this survey has not measured; survey with "
            f"{setting('measures=weight')}."
        )
    if not any(map(attends_to_itself, split_for_display(result))):
        raise UsageError(
            "HeadVis shows texts that attend to themselves, and this survey is of cross-attention; "
            f"leave it out, or make the gallery without {setting('headvis')}."
        )


def attends_to_itself(part: xr.Dataset) -> bool:
    """Whether queries and keys of a survey of one kind of attention are of the same text."""
    return part.attrs.get("kind") != "cross"


def headvis_files(result: xr.Dataset) -> Iterator[tuple[str, bytes]]:
    """All files of the folder by path.

    Args:
        result: a survey of one kind of attention, which `check_headvis` lets pass.
    """
    scatter = _scatter(result)
    yield "config.json", _json(_config(result, scatter))
    yield "scatter_data.json", _json(scatter)
    yield "server_config.json", _json({})
    yield "attributions/manifest.json", _json({})
    details, texts = HeadDetails(result), texts_of(result, "drawn_key")
    for layer, head in head_places(result):
        name = head_name(layer, head)
        yield f"heads/{name}.json", _json(_head(details.of(layer, head), texts))


def _scatter(result: xr.Dataset) -> list[dict[str, Any]]:
    numbers = {
        name: observed(result, variable, ("layer", "head"), measure=MEASURE, **labels) ** power
        for name, (variable, labels, power, _) in _METRICS.items()
    }
    layers = result["layer"].values.tolist()
    return [
        {"layer": layer, "head": head}
        | {name: _number(each[layers.index(layer), head]) for name, each in numbers.items()}
        for layer, head in head_places(result)
    ]


def _config(result: xr.Dataset, scatter: list[dict[str, Any]]) -> dict[str, Any]:
    subject = Subject.of(result)
    deciles = result.sizes.get("decile", 0)
    return {
        "model_name": subject.model,
        "dataset_name": subject.corpus,
        "heads": [[row["layer"], row["head"]] for row in scatter],
        "n_layers": result.sizes["layer"],
        "n_heads": result.sizes["head"],
        "n_intervals": deciles,
        "metrics": list(_METRICS),
        "metric_descriptions": {name: attribute for name, (*_, attribute) in _METRICS.items()},
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": [
            {"key": "qk_distance_histogram", "label": "Distance of query and key, whole corpus"},
            {"key": "histogram", "label": "Strongest link, of the texts at the deciles"},
        ],
        "custom_tables": [
            {"key": "top_query_tokens", "label": "Tokens that give most beyond their frequency"},
            {"key": "top_key_tokens", "label": "Tokens that get most beyond their frequency"},
        ],
        "statistics_display": {
            "n_samples": {"label": "Texts kept, one query of each", "format": "default"}
        },
    }


def _head(details: dict[str, Any], texts: list[list[str]]) -> dict[str, Any]:
    """Return the statistics of one head; texts from the weakest to the strongest."""
    deciles = sorted(details["deciles"][MEASURE])
    strengths = [score for _, score, *_ in deciles]
    counts, edges = np.histogram(strengths, BINS, (0, 1))
    return {
        "sequences": [
            _sequence(interval, texts[text], text, score, query, zip(keys, values, strict=True))
            for interval, (_, score, text, query, keys, values) in enumerate(deciles)
        ],
        "qk_distance_histogram": {
            "bin_edges": [*DISTANCES, 2 * DISTANCES[-1]],
            "bin_values": details["distances"].get(MEASURE, []),
        },
        **{
            f"top_{side}_tokens": [
                {"token": token, "weight": share}
                for token, share, _ in details["tokens"].get(side, {}).get(MEASURE, [])
            ]
            for side in ("query", "key")
        },
        "histogram": {
            "bin_edges": edges.round(2).tolist(),
            "bin_values": counts.tolist(),
        },
        "statistics": {"n_samples": len(deciles)},
    }


def _sequence(
    interval: int,
    tokens: list[str],
    number: int,
    score: float,
    query: int,
    links: Iterable[tuple[int, float]],
) -> dict[str, Any]:
    weights = [(query * len(tokens) + key, value) for key, value in links if value]
    return {
        "sequence_id": number,
        "interval": interval,
        "tokens": tokens,
        "attention_indices": [place for place, _ in weights],
        "attention_values": [value for _, value in weights],
        "seq_len": len(tokens),
        "max_activation": score,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
