"""The study of faithfulness: what answers lose with the words that a measure calls important."""

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.pictures import Line, LinePanel, lines
from headlight.views.scale import round_domain
from headlight.views.studies.parts import (
    COLOURED,
    IMPORTANCE_NAMES,
    Drawing,
    Figure,
    Section,
    Summary,
    rounded,
)

METRICS = {
    "comprehensiveness": "comprehensiveness ↑",
    "sufficiency": "sufficiency ↓",
    "deletion": "deletion ↓",
    "insertion": "insertion ↑",
    "first_flip": "flips by the first ↑",
    "share_to_flip": "share to flip ↓",
}
"""With the direction in which an order says more of the answer."""

SHARES = ("first_flip", "share_to_flip")
"""Metrics that are shares of texts and of words, and not differences of probabilities."""

CURVES = {
    "deletion": "The most important taken away",
    "insertion": "The most important alone",
}

WAYS = {
    "mask": "words become the mask token",
    "delete": "words are left out",
    "attention": "words cannot be attended to",
}

DEFINITIONS = (
    "p is the probability of the class that the model chooses for the whole text. "
    "Comprehensiveness: p less p without the most important words; sufficiency: p less p with "
    "these alone; both are means over 1, 5, 10, 20 and 50% of the words, at least one (the AOPC "
    "of ERASER). Deletion and insertion: the area under p as 0, 10, …, 100% of the words are "
    "taken away, or given. Flips by the first: the share of texts whose class changes without the "
    "one most important word. Share to flip: the smallest of these shares without which the class "
    "changes, 100% if it never does. Of a tagger all are means over the words of a sentence, each "
    "with the class that is chosen for it. Arrows say in which direction an order tells more of "
    "what the answer rests on. Texts without words are not what the model was trained on, so "
    "compare with the random order, and ways to take words away with each other."
)


def summary(result: xr.Dataset) -> Summary:
    """Accuracy, and comprehensiveness by measure, words taken away in the first way."""
    first = result.isel(removal=0)
    found: Summary = {"accuracy": float(result["own_accuracy"])}
    for name in map(str, result["measure"].values):
        found[f"{name}_comprehensiveness"] = float(first["comprehensiveness"].sel(measure=name))
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """One table for each way to take words away, and the curves."""
    first, *others = map(str, result["removal"].values)
    found = [_removal(result, first, f"{DEFINITIONS} {_rows(result)} {_accuracy(result)}")]
    found += [_removal(result, name, "The same metrics, with other removals.") for name in others]
    return [*found, _shares(result)]


def _label(measure: str) -> str:
    return "random order" if measure == "random" else IMPORTANCE_NAMES.get(measure, measure)


def _labels(result: xr.Dataset) -> dict[str, str]:
    return {name: _label(name) for name in map(str, result["measure"].values)}


def _rows(result: xr.Dataset) -> str:
    """Which rows of attention count, in words."""
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    rows = {
        "mean": "all rows",
        "first": "the row of the first token",
        "last": "the row of the last token",
    }
    return (
        f"A measure of attention is summed over {rows[settings.get('rows', 'mean')]} and all heads "
        "of a layer, as shares that add up to 1, and averaged over layers; a word has the sum of "
        "its pieces."
    )


def _accuracy(result: xr.Dataset) -> str:
    right = float(result["own_accuracy"])
    return f"{right:.1%} of the model's answers are right. Intervals: 95%, bootstrap over texts."


def _removal(result: xr.Dataset, removal: str, explanation: str) -> Section:
    cell = result.sel(removal=removal)
    labels = _labels(result)
    frame = pd.DataFrame({"order by": list(labels.values())})
    for name, heading in METRICS.items():
        frame[heading] = cell[name].values
    intervals = pd.DataFrame(
        [
            {
                "order by": label,
                "metric": heading,
                "value": float(cell[name].sel(measure=measure)),
                "low": float(cell[f"{name}_low"].sel(measure=measure)),
                "high": float(cell[f"{name}_high"].sel(measure=measure)),
            }
            for measure, label in labels.items()
            for name, heading in METRICS.items()
        ]
    )

    def draw() -> Figure:
        shown = {title: _curves(cell, name, labels) for name, title in CURVES.items()}
        limits = _range(shown.values())
        return lines(
            [
                LinePanel(title, each, "share of the words", "p", limits=limits)
                for title, each in shown.items()
            ]
        )

    formats = dict.fromkeys(METRICS.values(), ".3f")
    formats |= dict.fromkeys((METRICS[name] for name in SHARES), ".1%")
    return Section(
        f"removal-{removal}",
        f"What the answer loses: {WAYS[removal]}",
        explanation,
        "DeYoung et al. (2020)",
        [Drawing(f"curves-{removal}", "", f"Curves where {WAYS[removal]}.", draw)],
        [
            Table(f"metrics-{removal}", f"Means over texts; {WAYS[removal]}", frame, formats),
            Table(
                f"intervals-{removal}",
                "The same with intervals",
                intervals,
                dict.fromkeys(("value", "low", "high"), ".3f"),
            ),
        ],
    )


def _range(curves: Iterable[Sequence[Line]]) -> tuple[float, float]:
    """One vertical range for all, since they show the same probability."""
    ends = [end for each in curves for one in each for end in (one.low, one.high, one.y)]
    values = np.concatenate([end for end in ends if end is not None])
    return round_domain(float(np.nanmin(values)), float(np.nanmax(values)))


def _curves(cell: xr.Dataset, name: str, labels: Mapping[str, str]) -> list[Line]:
    curve = f"{name}_curve"
    return [
        Line(
            label,
            cell["step"].values,
            cell[curve].sel(measure=measure).values,
            cell[f"{curve}_low"].sel(measure=measure).values,
            cell[f"{curve}_high"].sel(measure=measure).values,
            colour=measure if measure in COLOURED else "",
            dashed=measure == "random",
        )
        for measure, label in labels.items()
    ]


def _shares(result: xr.Dataset) -> Section:
    frames = []
    for removal in map(str, result["removal"].values):
        for measure, label in _labels(result).items():
            cell = result.sel(removal=removal, measure=measure)
            frames.append(
                pd.DataFrame(
                    {
                        "removal": removal,
                        "order by": label,
                        "share": cell["share"].values,
                        "comprehensiveness": cell["share_comprehensiveness"].values,
                        "sufficiency": cell["share_sufficiency"].values,
                    }
                )
            )
    frame = pd.concat(frames, ignore_index=True)
    formats = {"share": ".0%", "comprehensiveness": ".3f", "sufficiency": ".3f"}
    return Section(
        "shares",
        "By the share of words",
        "Comprehensiveness and sufficiency before the mean over shares is taken. Shares are "
        "rounded up to whole words, so that short texts lose one word at 1% as at 5%.",
        "DeYoung et al. (2020), Section 4",
        tables=[Table("shares", "By the share of the words", frame, formats)],
    )
