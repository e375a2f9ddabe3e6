"""Effects of patched heads, as tables, a page and in a terminal."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.views.headline import BarList, Headline, value_bars
from headlight.views.number_formats import MINUS, signed
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.reading.prediction import DIGITS, asked
from headlight.views.reading.prediction_answer import different_words, target_label
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import head_name

MOST_HEADS = 100
"""Heads in the table of a page."""
MOST_BARS = 8
"""Heads that are drawn beside the title."""
SAME = 1e-5
"""Logits that are no further apart are one number."""
LEAST = 0.05
"""Less than this share of the difference is named by no sentence."""


def frame_of(result: xr.Dataset) -> pd.DataFrame:
    """Return the heads by the effect of their output, the largest first."""
    output, pattern = result["output"].values, result["pattern"].values
    layers, heads = np.nonzero(np.isfinite(output))
    frame = pd.DataFrame(
        {
            "layer": result["layer"].values[layers],
            "head": result["head"].values[heads],
            "output": output[layers, heads],
            "of the difference": output[layers, heads] / _difference(result),
            "pattern alone": pattern[layers, heads],
        }
    )
    order = (-frame["output"].abs()).sort_values(kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _difference(result: xr.Dataset) -> float:
    # Shares of a difference that is mere rounding mean nothing.
    difference = float(result["score"] - result["other_score"])
    return difference if abs(difference) > SAME else float("nan")


def findings(result: xr.Dataset) -> list[str]:
    """Return the difference of the texts, and the heads that carry most of it."""
    attributes, frame = result.attrs, frame_of(result)
    texts = text_title(attributes), str(attributes["compare_text"])
    text, other = (shortened(name, 60) for name in texts)
    what = "difference of the logits" if attributes["against"] else "logit"
    sentences = [
        title(result),
        f"{model_name(attributes)} reads “{text}” and “{other}”.",
        f"{asked(result)}: the {what} is {signed(float(result['score']), DIGITS)} against "
        f"{signed(float(result['other_score']), DIGITS)}.",
    ]
    named = frame[frame["of the difference"].abs() >= LEAST].head(3)
    parts = [
        f"{head_name(int(row['layer']), int(row['head']))} {signed(row['output'], DIGITS)} "
        f"({100 * row['of the difference']:+.0f}%; with its pattern alone "
        f"{signed(row['pattern alone'], DIGITS)})".replace("-", MINUS)
        for row in named.to_dict("records")
    ]
    if parts:
        sentences.append(
            f"A head with its output from the other text lowers it by {', '.join(parts)}."
        )
    return [*sentences, *([str(attributes["notes"])] if attributes["notes"] else [])]


def title(result: xr.Dataset) -> str:
    """Return the head that carries most of the difference, by its output and by its weights."""
    differ = different_words(result.attrs)
    texts = f"{differ[0]} and {differ[1]}" if differ else "the two texts"
    name = f"“{target_label(result)}”"
    if result.attrs["against"]:
        name += f" rather than “{target_label(result, 'against')}”"
    if not np.isfinite(_difference(result)):
        return f"{texts[0].upper()}{texts[1:]} make no difference to {name}: no head carries any."
    row = frame_of(result).iloc[0]
    share, pattern = row["of the difference"], row["pattern alone"] / _difference(result)
    if abs(share) < LEAST:
        return f"No head alone carries {LEAST:.0%} of the difference between {texts} for {name}."
    head = head_name(int(row["layer"]), int(row["head"]))
    does = "carries" if share > 0 else "cancels"
    return (
        f"{head} alone {does} {abs(share):.0%} of the difference between {texts} for {name}, and "
        f"by its attention weights {_share(pattern)}."
    )


def _share(share: float) -> str:
    return f"{share:.0%}".replace("-0%", "0%").replace("-", MINUS)


def headline(result: xr.Dataset) -> Headline:
    """Return the heads that carry most of the difference of two texts."""
    attributes = result.attrs
    texts = text_title(attributes), str(attributes["compare_text"])
    text, other = (shortened(name, 60) for name in texts)
    what = "difference of logits" if attributes["against"] else "logit"
    scores = [signed(float(result[name]), 1) for name in ("score", "other_score")]
    read = (
        f"{model_name(attributes)} reading “{text}” ({what} {scores[0]}) and “{other}” "
        f"({scores[1]})."
    )
    return Headline(title(result), read, _bars(result), kind="which head makes the difference")


def _bars(result: xr.Dataset) -> list[BarList]:
    """Return the shares of the largest heads, by their output and by their weights alone."""
    difference = _difference(result)
    if not np.isfinite(difference):
        return []
    frame = frame_of(result).head(MOST_BARS)
    names = [
        head_name(int(layer), int(head))
        for layer, head in zip(frame["layer"], frame["head"], strict=True)
    ]
    by_output, by_weights = frame["of the difference"], frame["pattern alone"] / difference
    largest = float(max(0.0, by_output.max(), by_weights.max()))
    lists = {
        "Difference gone with the head's output of the other text": (by_output, "norm"),
        "With its attention weights alone": (by_weights, "weight"),
    }
    notes = ["Heads work together, so that shares do not add up.", ""]
    return [
        BarList(
            caption,
            value_bars(zip(names, shares, strict=True), _share, series=series, longest=largest),
            note,
        )
        for (caption, (shares, series)), note in zip(lists.items(), notes, strict=True)
    ]


def summary(result: xr.Dataset) -> Summary:
    """Return the logits of the two texts."""
    return {name: float(result[name]) for name in ("score", "other_score")}


def sections(result: xr.Dataset) -> list[Section]:
    """Return the effects of all heads, as maps and as a table."""
    frame = frame_of(result)
    return [
        Section(
            "heads",
            "Which heads carry the difference",
            "One head at a time is that of the other text, at all tokens, and everything behind it "
            "is recomputed: by how much the logit falls. Heads work together, so that these "
            "numbers do not add up to the difference.",
            "Wang et al. (2023); Vig et al. (2020)",
            [Drawing("heads", "", "The fall of the logit by head.", lambda: _drawn(result))],
            [
                Table(
                    "heads",
                    "Heads by the effect of their output",
                    frame,
                    {
                        "output": "+.3f",
                        "of the difference": "+.0%",
                        "pattern alone": "+.3f",
                    },
                    most=MOST_HEADS,
                )
            ],
        )
    ]


def _drawn(result: xr.Dataset) -> Figure:
    titles = {"output": "output", "pattern": "weights alone"}
    largest = max(float(np.nanmax(np.abs(result[name]), initial=0.0)) for name in titles) or 1.0
    maps = [
        HeadMap(
            title,
            result[name].values,
            rows=[str(layer) for layer in result["layer"].values],
            columns=[str(head) for head in result["head"].values],
            row_label="layer",
            column_label="head",
            scale="change",
            limits=(-largest, largest),
            format="+.2f",
        )
        for name, title in titles.items()
    ]
    return head_map(maps, annotate=False)
