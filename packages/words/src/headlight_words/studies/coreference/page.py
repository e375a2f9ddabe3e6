"""The study of coreference: heads as resolvers."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.what_was_read import has_interval
from headlight.views.parts import Drawing, Figure, Map, Section, Summary, Table, maps
from headlight.views.parts.alignment_drawings import sentence_links
from headlight.views.parts.result_facts import rounded
from headlight.views.pictures import BarRow, LinkDrawing, Mark, attention_lines, bars
from headlight.vocabulary import head_name
from headlight_words.findings.coreference import ALL, best_heads, coreference

findings = coreference
"""Findings in words, which stand first on the page."""

BASELINE = "#8a8a86"


def summary(result: xr.Dataset) -> Summary:
    """Return the number of mentions, and the accuracies of the best heads and baselines."""
    numbers: Summary = {"mentions": int(result["count"].sel(mention_kind=ALL))}
    frame = _systems(result)
    for row in frame.to_dict("records"):
        numbers[f"{str(row['who']).replace(' ', '_')}_accuracy"] = float(row[ALL])
    return rounded(numbers)


def _systems(result: xr.Dataset) -> pd.DataFrame:
    """Return the baselines, and of each measure the head that is right most often."""
    rows = []
    baselines = estimates(result, "baseline_accuracy", ("baseline",), mention_kind=ALL)
    for at, name in enumerate(map(str, result["baseline"].values)):
        shares = result["baseline_accuracy"].sel(baseline=name).to_series()
        rate = baselines.at(at)
        ends = {ALL: shares[ALL], "low": float(rate.low), "high": float(rate.high)}
        rows.append({"who": name, "head": "", "attending": "", **ends, **shares})
    for measure, best in best_heads(result).groupby("measure", sort=False):
        by_kind = best.set_index("mention_kind")
        overall = by_kind.to_dict("index")[ALL]
        head_columns = {
            "who": measure,
            "head": head_name(overall["layer"], overall["head"]),
            "attending": overall["direction"],
        }
        ends = {ALL: overall["accuracy"], "low": overall["low"], "high": overall["high"]}
        rows.append({**head_columns, **ends, **by_kind["accuracy"]})
    if not has_interval(result):
        rows = [{**row, "low": float("nan"), "high": float("nan")} for row in rows]
    return pd.DataFrame(rows)


def _colour(row: Mapping[Hashable, Any]) -> str:
    return str(row["who"]) if row["head"] else BASELINE


def sections(result: xr.Dataset) -> list[Section]:
    """Return sections on the best heads beside the baselines, and on all heads."""
    frame = _systems(result)
    kinds = [str(kind) for kind in result["mention_kind"].values]

    def draw() -> Figure:
        rows = [
            BarRow(
                str(row["who"]),
                [Mark("all mentions", row[ALL], row["low"], row["high"], _colour(row))],
                note=str(row["head"]),
            )
            for row in frame.to_dict("records")
        ]
        return bars(rows, x_label="accuracy", percent=True)

    of_all_mentions = result.sel(mention_kind=ALL)
    better = of_all_mentions.assign(accuracy=of_all_mentions["accuracy"].max("direction"))
    draw_heads = maps(better, Map("accuracy", by="measure", format=".0%"))

    def draw_sentences() -> Figure:
        return attention_lines(sentences, columns=3)

    sentences = _sentences(result, frame)
    drawing = Drawing(
        "sentences",
        "Stretches of the corpus in which the best head of a measure finds antecedents, for each "
        "kind of mention: a line goes from the head word of a mention to the word that is picked "
        "for it, red where that is the head word of an antecedent.",
        "Stretches of text in which heads find antecedents.",
        draw_sentences,
    )
    formats = dict.fromkeys((*kinds, "low", "high"), ".1%")
    section = Section(
        "coreference",
        "Heads that find the antecedent",
        "A head is right about a mention if the word that gets most of its attention, among "
        "candidates, belongs to the same entity. Low and high: the 95% interval of all mentions, "
        "over documents, of a head that was chosen beforehand.",
        "Clark et al. (2019), Table 2",
        [
            Drawing("accuracy", "", "Accuracy of baselines and best heads.", draw),
            *([drawing] if sentences else []),
            Drawing("heads", "The better direction of each head.", "All heads.", draw_heads),
        ],
        [Table("best", "Baselines, and the best head of each measure", frame, formats)],
    )
    return [section]


def _sentences(result: xr.Dataset, frame: pd.DataFrame) -> list[LinkDrawing]:
    """Return drawings of each kind of mention where the best head of a measure is right."""
    kinds = [kind for kind in map(str, result["mention_kind"].values) if kind != ALL]
    drawings = [
        sentence_links(
            result.sel(measure=row["who"], mention_kind=kind),
            f"{kind}: {row['head']} by {row['who']}",
            f"the {row['attending']} attends",
        )
        for row in frame.to_dict("records")
        if row["head"]
        for kind in kinds
    ]
    return [drawing for drawing in drawings if drawing]
