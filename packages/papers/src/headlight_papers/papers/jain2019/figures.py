"""Figures 2 to 5, how measures agree; 6, permuted attention; 7 and 8, adversarial attention."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas
import xarray
from jaxtyping import Float64

from headlight.views.parts import Curve, Drawing, Figure, Section
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.box_plots import boxes
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.results import (
    ENCODER_NAMES,
    OF_WHAT,
    PAIR_NAMES,
    Results,
    frame_of,
    load_all,
    notes_of,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text_classifiers import LARGEST, by_largest
from headlight_papers.training.text_classifier import Encoder

exhibit = exhibits_of(published.SOURCE, "labelled")

TAU_EDGES = np.linspace(-1, 1, 21)
BOUND = float(np.log(2))
JSD_EDGES = np.linspace(0, BOUND, 15)
COLOURS = {0: "#0072b2", 1: "#d1500a"}
"""Colours of the two classes, as in the lines."""
FAR = 0.6
"""An ε-max JSD of so much is close to the bound of ln 2."""

Values = Float64[np.ndarray, " _"]


@exhibit("figure-2", "Figure 2", title="How attention agrees with gradients and leaving out")
def figure_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Histograms of τ over texts, by predicted class."""
    results = load_all(reproduction)
    pictures = []
    for pair in ("attention_gradient", "attention_left_out"):
        name = PAIR_NAMES[pair]
        means = [float(frame_of(result)[pair].mean()) for result in results.values()]
        pictures.append(
            _histograms(
                writer,
                results,
                TAU_EDGES,
                pair,
                x_label=f"τ ({name})",
                caption=f"Share of the texts of a predicted class by τ of {name}; the line is at "
                "0.",
                alternative=f"Mean τ from {min(means):.2f} to {max(means):.2f}.",
                name=pair.replace("_", "-"),
            )
        )
    return Section(explanation=OF_WHAT, drawings=pictures, notes=notes_of(reproduction, results))


@exhibit(
    "figure-3",
    "Figures 3 to 5",
    title="Whether gradients agree with leaving out more than attention does",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Differences of τ on the same text, and those between encoders."""
    results = load_all(reproduction)
    frames = {key: frame_of(result) for key, result in results.items()}
    pairs = ("attention_left_out", "attention_gradient")
    models = [f"{title}, {ENCODER_NAMES[encoder]}" for title, encoder in frames]
    rows = [
        _mark(model, f"minus τ ({PAIR_NAMES[pair]})", gain(frame, pair))
        for model, frame in zip(models, frames.values(), strict=True)
        for pair in pairs
    ]
    beside = [
        _mark(title, f"average − {name}", between(frames, title, encoder))
        for title in dict.fromkeys(title for title, _ in frames)
        for encoder, name in ENCODER_NAMES.items()
        if encoder != "average"
    ]
    table = pandas.DataFrame(
        {
            "model": models,
            **{
                f"{PAIR_NAMES['gradient_left_out']} − {PAIR_NAMES[pair]}": [
                    str(mean_interval(gain(frame, pair))).replace("-", "−")
                    for frame in frames.values()
                ]
                for pair in pairs
            },
        }
    )
    held = sum(mean_interval(gain(frame, pairs[1])).mean > 0 for frame in frames.values())
    first = writer.picture(
        _marks(rows, "τ (gradient, left out) minus another τ"),
        "By how much τ of gradients and leaving out is above that of attention and leaving out "
        "(Figure 3), and of attention and gradients (Figure 4); means over texts, 95% intervals.",
        f"Above 0 for {held} of {len(frames)} models.",
    )
    second = writer.picture(
        _marks(beside, "difference of τ (attention, left out)"),
        "By how much attention agrees with leaving out better where words are encoded one by one "
        "than in context (Figure 5); means over texts with 95% intervals.",
        "Differences between encoders by set.",
        name="encoders",
    )
    return Section(
        explanation=f"{OF_WHAT} Differences are taken on each text; right of 0 gradients and "
        "leaving out agree better with each other than with attention.",
        drawings=[first, second],
        tables=[writer.table(table, "Mean difference of τ over texts ± half of a 95% interval")],
        notes=notes_of(reproduction, results),
    )


@exhibit("figure-7", "Figure 7", title="How different attention can be")
def figure_7(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Histograms of the ε-max JSD by predicted class."""
    results = load_all(reproduction)
    table = pandas.DataFrame([_adversaries_row(*key, result) for key, result in results.items()])
    means = [float(result["jsd"].mean()) for result in results.values()]
    picture = _histograms(
        writer,
        results,
        JSD_EDGES,
        "jsd",
        x_label="ε-max JSD",
        caption="Share of the texts of a predicted class by the ε-max JSD; the bound is "
        "ln 2 = 0.693.",
        alternative=f"Means from {min(means):.2f} to {max(means):.2f}.",
    )
    return Section(
        explanation="For each text attention is looked for that is as far as possible from the "
        "model's own, in Jensen-Shannon divergence, and moves the prediction by at most 0.05; "
        "encoder and output stay as they are. What is found is a lower bound of what there is.",
        drawings=[picture],
        tables=[writer.table(table, "ε-max JSD over texts")],
        notes=notes_of(reproduction, results),
    )


def by_largest_weight(
    reproduction: Reproduction,
    writer: ExhibitWriter,
    *,
    column: str,
    caption: str,
    explanation: str,
    **axes: Any,
) -> Section:
    """Return the section of a number of texts by the largest weight and the predicted class."""
    results = load_all(reproduction)
    frames, rows = [], []
    for (title, encoder), result in results.items():
        frame = frame_of(result).dropna(subset=[column])
        model = f"{title}, {ENCODER_NAMES[encoder]}"
        frame[LARGEST] = by_largest(frame.largest.to_numpy())
        cells = {
            label: f"{some.median():.3f} ({len(some)})" if len(some) else "–"
            for label, some in frame.groupby(LARGEST, observed=False)[column]
        }
        rows.append({"model": model, **cells, "all": f"{frame[column].median():.3f}"})
        frames.append(frame.assign(model=model, series=frame.predicted))
    medians = [float(result[column].median()) for result in results.values()]
    picture = writer.picture(
        boxes(
            pandas.concat(frames),
            LARGEST,
            column,
            panel="model",
            colours=COLOURS,
            names={number: f"class {number + 1}" for number in COLOURS},
            columns=len(ENCODER_NAMES),
            x_label=LARGEST,
            **axes,
        ),
        f"{caption} Lines are medians over texts, boxes quartiles, whiskers the 5th and the 95th "
        "percentile.",
        f"Medians over texts from {min(medians):.3f} to {max(medians):.3f}.",
    )
    return Section(
        explanation=explanation,
        drawings=[picture],
        tables=[writer.table(pandas.DataFrame(rows), "Median over texts, by the largest weight")],
        notes=notes_of(reproduction, results),
    )


BY_WEIGHT: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (
        6,
        "Predictions when attention is permuted",
        {
            "column": "permuted",
            "caption": "How far the prediction of a text moves, the median over 100 "
            "permutations of its weights, by its largest weight and predicted class.",
            "explanation": "The weights of all words of a text change places at random, and "
            "the states that they weigh stay as they are. TVD of two classes is the change of "
            "the probability of either.",
            "y_label": "median TVD",
            "limits": (0.0, 1.0),
        },
    ),
    (
        8,
        "How different attention can be, by the largest weight",
        {
            "column": "jsd",
            "caption": "ε-max JSD by the largest weight of a text and predicted class.",
            "explanation": "As Figure 7. Where one word has nearly all attention, other "
            "attention is harder to find that leaves the prediction as it is, unless the "
            "prediction does not depend on attention.",
            "y_label": "ε-max JSD",
            "limits": (0.0, 0.7),
        },
    ),
)
figure_6, figure_8 = (
    exhibit(f"figure-{number}", f"Figure {number}", title=title)(
        partial(by_largest_weight, **shows)
    )
    for number, title, shows in BY_WEIGHT
)


def gain(frame: pandas.DataFrame, pair: str) -> "pandas.Series[float]":
    """τ (gradient, left out) minus another τ on the same text."""
    return (frame["gradient_left_out"] - frame[pair]).dropna()


def between(
    frames: Mapping[tuple[str, Encoder], pandas.DataFrame], title: str, encoder: Encoder
) -> "pandas.Series[float]":
    """By how much τ (attention, left out) is larger with the encoder ``average``."""
    one, other = frames[title, "average"], frames[title, encoder]
    return (one["attention_left_out"] - other["attention_left_out"]).dropna()


def _mark(model: str, series: str, values: "pandas.Series[float]") -> dict[str, object]:
    interval = mean_interval(values)
    ends = {"low": interval.mean - interval.half, "high": interval.mean + interval.half}
    return {"model": model, "series": series, "difference": interval.mean, **ends}


def _marks(rows: list[dict[str, object]], x_label: str) -> Callable[[], Figure]:
    return bars(pandas.DataFrame(rows), "model", "difference", series="series", x_label=x_label)


def _histograms(
    writer: ExhibitWriter,
    results: Results,
    edges: Values,
    column: str,
    *,
    x_label: str,
    **words: str,
) -> Drawing:
    """A panel for each model, with a histogram for each predicted class."""
    shares = {}
    for (title, encoder), result in results.items():
        frame, classes = frame_of(result), result["class"].values
        name = f"{title} ({', '.join(map(str, classes))}), {ENCODER_NAMES[encoder]}"
        rows = [
            outline(frame.loc[frame.predicted == number, column], edges)
            for number in range(len(classes))
        ]
        shares[name] = xarray.DataArray(rows, dims=("class", "corner"))
    every = xarray.concat(list(shares.values()), pandas.Index(shares, name="model"))
    every["edge"] = "corner", np.repeat(edges, 2)[1:-1]
    every["class"] = every["class"] + 1
    curve = Curve(
        "share",
        "class {class}",
        "{model}",
        by=("model", "class"),
        over="edge",
        colour=dict(enumerate(COLOURS.values(), 1)),
        percent=True,
        x_label=x_label,
        y_label="share of texts",
    )
    return writer.curves(every.to_dataset(name="share"), curve, columns=len(ENCODER_NAMES), **words)


def outline(values: "pandas.Series[float]", edges: Values) -> Values:
    """The heights of a histogram as shares of all values, at both ends of each bin."""
    counts, _ = np.histogram(values.dropna(), edges)
    shares = counts / counts.sum() if counts.sum() else np.full(len(counts), np.nan)
    return np.repeat(shares, 2)


def _adversaries_row(title: str, encoder: Encoder, result: xarray.Dataset) -> dict[str, object]:
    frame = frame_of(result).dropna(subset=["jsd"])
    released = published.RELEASED.get((title, encoder))
    by_class = [frame[frame.predicted == number].jsd.mean() for number in (0, 1)]
    return {
        "model": f"{title}, {ENCODER_NAMES[encoder]}",
        "texts": len(frame),
        "mean": f"{frame.jsd.mean():.2f}",
        "by class": " / ".join(f"{one:.2f}" for one in by_class),
        "released, by class": " / ".join(f"{one:.2f}" for one in released.jsd) if released else "–",
        f"at least {FAR}": f"{(frame.jsd >= FAR).mean():.0%}",
    }
