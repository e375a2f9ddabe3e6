"""The study of dependency: heads as parsers."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import xarray as xr

from headlight.findings.phrases import percent, plural
from headlight.result.estimate import decided
from headlight.views.headline import BarList, value_bars
from headlight.views.parts import Drawing, Figure, Map, Section, Summary, Table, maps
from headlight.views.parts.alignment_drawings import sentence_links
from headlight.views.parts.result_facts import rounded
from headlight.views.pictures import BarRow, LinkDrawing, Mark, attention_lines, bars
from headlight.vocabulary import head_name
from headlight_words.findings.dependency import ALL, best_heads, dependency

findings = dependency
"""Findings in words, which stand first on the page."""

FEWEST = 100
"""Words that a relation needs for a best head of its own; fewer in small corpora."""
SOURCE = "Clark et al. (2019), Table 1"
DRAWN, SHOWN = 16, 6
"""Numbers of relations in a figure, and of those with an example sentence."""


def headline_pictures(result: xr.Dataset) -> list[BarList]:
    """Return the share of governors that the best heads find, and the best fixed offset.

    Args:
        result: Result of the study.
    """
    values = {}
    for measure in _measures(result):
        best = _best_heads(result, measure).iloc[0]
        values[f"{best['head']} by {measure}"] = float(best["accuracy"])
        offset, rule = int(best["best offset"]), float(best["its accuracy"])
    values = dict(sorted(values.items(), key=lambda item: -item[1]))
    places = f"{plural(abs(offset), 'word')} {'later' if offset > 0 else 'earlier'}"
    always = f"always the word {places} (best offset)"
    values[always] = rule
    title = "Words whose governor is found"
    return [BarList(title, value_bars(values, percent, [always]))]


def summary(result: xr.Dataset) -> Summary:
    """Return the accuracy of the best head for all words, and its name."""
    numbers: Summary = {"words": int(result["count"].sel(relation=ALL))}
    for measure in _measures(result):
        best = _best_heads(result, measure).iloc[0]
        numbers[f"{measure}_best_accuracy"] = float(best["accuracy"])
        numbers[f"{measure}_best_head"] = str(best["head"])
    offsets = result["offset_accuracy"].sel(relation=ALL)
    return rounded({**numbers, "best_offset_accuracy": float(offsets.max())})


def sections(result: xr.Dataset) -> list[Section]:
    """Return the best heads of relations by all measures, and sentences and heads by each."""
    return [_relations(result), _heads(result), *_same_part(result)]


def _best_heads(result: xr.Dataset, measure: str) -> pd.DataFrame:
    """Return the head that finds each relation best, as the page shows it."""
    fewest = min(FEWEST, int(result["count"].sel(relation=ALL)) // 20)
    best = best_heads(result, measure, min_count=fewest)
    return pd.DataFrame(
        {
            "relation": best["relation"],
            "words": best["count"],
            "head": list(map(head_name, best["layer"], best["head"])),
            "attending": best["direction"],
            **best[["accuracy", "low", "high"]],
            "by cross-fit": best["cross_fit"],
            "best offset": best["offset"],
            "its accuracy": best["baseline"],
            "gain": best["gain"],
            "gain low": best["gain_low"],
            "gain high": best["gain_high"],
        }
    )


def _measures(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["measure"].values]


def _relations(result: xr.Dataset) -> Section:
    frames = {measure: _best_heads(result, measure) for measure in _measures(result)}

    def draw() -> Figure:
        by_measure = [frame.head(DRAWN).to_dict("records") for frame in frames.values()]
        omitted = next(iter(frames.values())).iloc[DRAWN:]
        label = "accuracy"
        if len(omitted):
            words = plural(int(omitted["words"].sum()), "word")
            label += f"\nleft out: {plural(len(omitted), 'relation')} of {words}, in the table"
        rows = [
            BarRow(
                f"{same[0]['relation']} ({same[0]['words']:,})",
                [_mark(measure, row) for measure, row in zip(frames, same, strict=True)],
                {"best fixed offset": same[0]["its accuracy"]},
            )
            for same in zip(*by_measure, strict=True)
        ]
        return bars(rows, x_label=label, percent=True, dots=True)

    formats = dict.fromkeys(("accuracy", "low", "high", "by cross-fit", "its accuracy"), ".1%")
    formats |= dict.fromkeys(("gain", "gain low", "gain high"), "+.1%")
    return Section(
        "relations",
        "Relations that heads find",
        "The head of a dependent is predicted to be the word to which it attends most; or, where "
        "the head attends, the word that attends to it most. The interval (95%, over documents or "
        "sentences) is one of a head that was chosen beforehand; by cross-fit: of a head that was "
        "chosen on one half of the treebank and judged on the other. The fixed offset always "
        "says: the word this many places away; a head that is not certainly right more often is "
        "grey, by the interval of its gain over the same words, which counts in the choice. "
        "In brackets: how many words have the relation; beside a dot: the head that finds most "
        "of them.",
        SOURCE,
        [Drawing("relations", "", "Best heads of relations by all measures.", draw)],
        [
            Table(measure, f"The best head of each relation, by {measure}", frame, formats)
            for measure, frame in frames.items()
        ],
    )


def _mark(measure: str, row: Mapping[Hashable, Any]) -> Mark:
    verdict = decided(row["gain"], row["gain low"], row["gain high"], 0.0)
    return Mark(
        measure,
        row["accuracy"],
        row["low"],
        row["high"],
        measure,
        row["head"],
        faint=verdict != "above",
    )


def _heads(result: xr.Dataset) -> Section:
    return Section(
        "heads",
        "All heads, and what the best ones say",
        "The share of all words of which a head finds the governor. Above it sentences of the "
        "treebank in which the best heads find their relations: a line goes from a word of the "
        "relation to the word that the head says governs it, red where that is right.",
        SOURCE,
        [drawing for measure in _measures(result) for drawing in _draw_measure(result, measure)],
    )


def _same_part(result: xr.Dataset) -> list[Section]:
    """Return the section on words of the same part of speech, where the treebank has tags."""
    if "same_part" not in result or not result["same_part"].notnull().any():
        return []
    even = float(result["same_part_even"].mean())
    draw = maps(result, Map("same_part", "{measure}", by="measure", format=".0%"))
    explanation = (
        "Of what a word gives to other words, the share that goes to words of its own part of "
        f"speech; {even:.0%} if it gave the same to all. The mean over sentences of the words "
        "that have another of theirs."
    )
    words = "Share of words of the same part of speech, by measure."
    drawing = Drawing("same_part", words, words, draw)
    return [Section("parts", "Words of the same part of speech", explanation, "", [drawing])]


def _draw_measure(result: xr.Dataset, measure: str) -> list[Drawing]:
    """Return drawings of sentences and of all heads by one measure."""
    of_measure = result.sel(measure=measure)
    sentences = _sentences(of_measure, _best_heads(result, measure))

    def draw_sentences() -> Figure:
        return attention_lines(sentences, columns=3)

    draw_heads = maps(
        of_measure.sel(relation=ALL),
        Map(
            "accuracy", "Attention of the {direction}", by="direction", scale=measure, format=".0%"
        ),
    )
    words = f"Sentences in which heads find relations, by {measure}."
    sentence_drawings = [Drawing(f"{measure}_sentences", words, words, draw_sentences, measure)]
    words = f"All words, by {measure}."
    return [
        *(sentence_drawings if sentences else []),
        Drawing(f"{measure}_heads", words, f"All heads by {measure}.", draw_heads, measure),
    ]


def _sentences(result: xr.Dataset, frame: pd.DataFrame) -> list[LinkDrawing]:
    """Return drawings of a sentence, with the head's predictions, of most frequent relations."""
    drawings = [
        sentence_links(
            result.sel(relation=row["relation"]),
            f"{row['relation']}: {row['head']}",
            f"the {row['attending']} attends",
        )
        for row in frame.to_dict("records")
    ]
    return [drawing for drawing in drawings if drawing][:SHOWN]
