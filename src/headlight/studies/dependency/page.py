"""The study of dependency: heads as parsers."""

import pandas as pd
import xarray as xr

from headlight.findings.dependency import ALL, best_heads
from headlight.views.exhibits import Table
from headlight.views.parts import (
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    maps,
    rounded,
    sentence_links,
)
from headlight.views.pictures import BarRow, LinkDrawing, Mark, attention_lines, bars
from headlight.vocabulary import head_name

FEWEST = 100
"""Words that a relation needs for a best head of its own; at most, if the corpus is small."""
DRAWN, SHOWN = 16, 6
"""Relations of a picture, and those of which a sentence is shown."""


def summary(result: xr.Dataset) -> Summary:
    """The accuracy of the best head for all words, and which it is."""
    found: Summary = {"words": int(result["count"].sel(relation=ALL))}
    for measure in _measures(result):
        best = _best_heads(result, measure).iloc[0]
        found[f"{measure}_best_accuracy"] = float(best["accuracy"])
        found[f"{measure}_best_head"] = str(best["head"])
    offsets = result["offset_accuracy"].sel(relation=ALL)
    return rounded({**found, "best_offset_accuracy": float(offsets.max())})


def sections(result: xr.Dataset) -> list[Section]:
    """For each measure the best head of each relation, and all heads."""
    return [_measure(result, measure) for measure in _measures(result)]


def _best_heads(result: xr.Dataset, measure: str) -> pd.DataFrame:
    """The head that finds each relation best, as the page shows it."""
    fewest = min(FEWEST, int(result["count"].sel(relation=ALL)) // 20)
    best = best_heads(result, measure, min_count=fewest)
    return pd.DataFrame(
        {
            "relation": best["relation"],
            "words": best["count"],
            "head": list(map(head_name, best["layer"], best["head"])),
            "attending": best["direction"],
            **best[["accuracy", "low", "high"]],
            "best offset": best["offset"],
            "its accuracy": best["baseline"],
        }
    )


def _measures(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values]


def _measure(result: xr.Dataset, measure: str) -> Section:
    frame = _best_heads(result, measure)

    def draw() -> Figure:
        rows = [
            BarRow(
                f"{row['relation']} ({row['words']:,})",
                [Mark("best head", row["accuracy"], row["low"], row["high"], measure)],
                {"best fixed offset": row["its accuracy"]},
                row["head"],
            )
            for row in frame.head(DRAWN).to_dict("records")
        ]
        return bars(rows, x_label="accuracy", percent=True)

    draw_heads = maps(
        result.sel(measure=measure, relation=ALL),
        Map(
            "accuracy",
            "Attention of the {direction}",
            by="direction",
            scale=measure,
            format=".0%",
        ),
    )

    def draw_sentences() -> Figure:
        return attention_lines(sentences, columns=3)

    sentences = _sentences(result.sel(measure=measure), frame)
    shown = Drawing(
        f"{measure}_sentences",
        "Sentences of the treebank in which these heads find their relations: a line goes from a "
        "word of the relation to the word that the head says governs it, red where that is right.",
        f"Sentences in which heads find relations, by {measure}.",
        draw_sentences,
    )
    words = (
        "The head of a dependent is predicted to be the word to which it attends most; or, where "
        "the head attends, the word that attends to it most. The interval (95%, bootstrap over "
        "sentences) is one of a head that was chosen beforehand. The fixed offset always says: "
        "the word this many places away. In brackets: how many words have the relation; beside a "
        "bar: the head that finds most of them."
    )
    formats = dict.fromkeys(("accuracy", "low", "high", "its accuracy"), ".1%")
    return Section(
        measure,
        f"Relations that heads find, by {measure}",
        words,
        "Clark et al. (2019), Table 1",
        [
            Drawing(f"{measure}_relations", "", f"Best heads by {measure}.", draw),
            *([shown] if sentences else []),
            Drawing(f"{measure}_heads", "All words.", f"All heads by {measure}.", draw_heads),
        ],
        [Table(measure, "The best head of each relation", frame, formats)],
    )


def _sentences(result: xr.Dataset, frame: pd.DataFrame) -> list[LinkDrawing]:
    """The sentences of the most frequent relations that have one, with what the head says there."""
    drawings = [
        sentence_links(
            result.sel(relation=row["relation"]),
            f"{row['relation']}: {row['head']}",
            f"the {row['attending']} attends",
        )
        for row in frame.to_dict("records")
    ]
    return [drawing for drawing in drawings if drawing][:SHOWN]
