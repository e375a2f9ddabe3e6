"""Galleries of heads, and their export to HeadVis.

A gallery: the heads of many surveys as a folder for any web host, which opens from disk too.
Pages load scripts that lie beside them, and nothing else: one with the numbers of all heads of a
model, and one for each head that is looked at.

A survey as the folder of data that the front end of HeadVis reads (Luger, Kamath et al. 2026).
The folder is served with that front end, as its ``data``: ``config.json``, ``scatter_data.json``
with six numbers of every head, and a file for each head in ``heads``.  Its files are described with
the pipeline of Neuronpedia, which writes them from a model; here they are made of a survey, which
keeps one query of each text, and exact sums over the corpus for distances and tokens.  Five of the
six numbers are those of the pipeline; in its induction score shares below 0.01 count as 0, here all
count.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from headlight.errors import UsageError, setting
from headlight.findings.estimates import observed, surveyed
from headlight.findings.what_was_read import what_was_read
from headlight.result.kinds import MULTI_KIND, split_for_display
from headlight.views.head_numbers import HeadDetails, all_heads, head_places, texts_of
from headlight.views.provenance import Subject, model_name, provenance
from headlight.views.result_page import answers
from headlight.views.template import GALLERY, GALLERY_MODEL, embedded, joined_script, render
from headlight.vocabulary import ATTENTION, DISTANCES, head_name

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


REPORT, HEADVIS = "report.html", "headvis"
FINDINGS = 3
"""Sentences on the card of a model."""

_EXAMPLES = ("previous", "duplicate in layer > 2", "sep > 10%", "entropy < 1")
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Shown:
    """One survey of a gallery.

    Attributes:
        result: of all its kinds of attention.
        report: its page, if there is one.
    """

    result: xr.Dataset
    report: bytes | None = None


@dataclass(frozen=True)
class _Entry:
    """One kind of attention of a survey, which has a folder."""

    part: xr.Dataset
    slug: str
    title: str

    @property
    def link(self) -> str:
        """Return the text of the link to its heads."""
        size = f"{self.part.sizes['layer']} × {self.part.sizes['head']} heads"
        return f"{self.part.attrs['kind']}: {size}" if MULTI_KIND in self.part.attrs else size


def gallery_files(runs: Sequence[Shown], *, headvis: bool = False) -> Iterator[tuple[str, bytes]]:
    """All files of a gallery by path, the first page last.

    Args:
        runs: surveys, each of one model and corpus.
        headvis: whether there is data for the front end of HeadVis as well, see `headvis_files`.
    """
    cards: list[dict[str, Any]] = []
    slugs: set[str] = set()
    everything: list[_Entry] = []
    for each in runs:
        entries = [_entry(part, slugs) for part in split_for_display(each.result)]
        everything += entries
        # The report of all kinds lies beside the heads of the first.
        report = "" if each.report is None else f"{entries[0].slug}/{REPORT}"
        if each.report is not None:
            yield report, each.report
        for entry in entries:
            yield from _of_entry(entry, report and f"../{report}")
            if headvis and attends_to_itself(entry.part):
                for path, content in headvis_files(entry.part):
                    yield f"{HEADVIS}/{entry.slug}/{path}", content
        cards.append(
            {
                "title": model_name(each.result.attrs),
                "about": what_was_read(each.result).sentence,
                "findings": [finding for entry in entries for finding in answers(entry.part)][
                    :FINDINGS
                ],
                "entries": entries,
                "report": report,
            }
        )
    page = render(
        "gallery.html",
        title="Heads of attention",
        cards=cards,
        entries=everything,
        heads=sum(len(head_places(entry.part)) for entry in everything),
        examples=_EXAMPLES,
        models=embedded([{"slug": each.slug, "title": each.title} for each in everything]),
        provenance=provenance({"stage": "survey"}, "headlight gallery RUN... --out FOLDER"),
        script=Markup(joined_script(GALLERY)),
    )
    yield "index.html", page.encode()


def _entry(part: xr.Dataset, slugs: set[str]) -> _Entry:
    kind = str(part.attrs["kind"]) if MULTI_KIND in part.attrs else ""
    subject = Subject.of(part)
    plain = _OTHERS.sub("-", f"{subject.model} {kind}".lower()).strip("-")[:60] or "model"
    slug, number = plain, 1
    while slug in slugs:
        number += 1
        slug = f"{plain}-{number}"
    slugs.add(slug)
    again = f"({number})" if number > 1 else ""
    title = " · ".join(filter(None, (subject.model, subject.corpus, kind, again)))
    return _Entry(part, slug, title)


def _of_entry(entry: _Entry, report: str) -> Iterator[tuple[str, bytes]]:
    """The folder of a survey: its page, the numbers of all heads, and those of each."""
    all = all_heads(entry.part)
    yield f"{entry.slug}/heads.js", _data(entry.slug, all)
    details = HeadDetails(entry.part)
    for name, (layer, head) in zip(all["names"], head_places(entry.part), strict=True):
        yield f"{entry.slug}/heads/{name}.js", _data(name, details.of(layer, head))
    kind = str(entry.part.attrs.get("kind", ""))
    page = render(
        "gallery_model.html",
        title=entry.title,
        about=f"{ATTENTION[kind]}. {what_was_read(entry.part).sentence}",
        slug=entry.slug,
        report=report,
        provenance=provenance(entry.part.attrs),
        script=Markup(joined_script(GALLERY_MODEL)),
    )
    yield f"{entry.slug}/index.html", page.encode()


def _data(name: str, value: Any) -> bytes:
    """A script that hands a value to the page."""
    return f"headlightData({json.dumps(name)}, {embedded(value)});\n".encode()
