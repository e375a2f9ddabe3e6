"""Figures 3 to 5: whether gradients agree with leaving out more than attention does."""

from collections.abc import Callable, Mapping

import pandas

from headlight.views.parts import Figure, Section
from headlight.views.parts.bar_charts import bars
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, load_all, notes_of
from headlight_papers.papers.jain2019.table_2_correlations import OF_WHAT, PAIR_NAMES, frame_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.text_encoders import Encoder


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


def gain(frame: pandas.DataFrame, pair: str) -> "pandas.Series[float]":
    """Return τ (gradient, left out) minus another τ on the same text."""
    return (frame["gradient_left_out"] - frame[pair]).dropna()


def between(
    frames: Mapping[tuple[str, Encoder], pandas.DataFrame], title: str, encoder: Encoder
) -> "pandas.Series[float]":
    """Return by how much τ (attention, left out) is larger with the encoder ``average``."""
    average, other = frames[title, "average"], frames[title, encoder]
    return (average["attention_left_out"] - other["attention_left_out"]).dropna()


def _mark(model: str, series: str, values: "pandas.Series[float]") -> dict[str, object]:
    interval = mean_interval(values)
    ends = {"low": interval.mean - interval.half, "high": interval.mean + interval.half}
    return {"model": model, "series": series, "difference": interval.mean, **ends}


def _marks(rows: list[dict[str, object]], x_label: str) -> Callable[[], Figure]:
    return bars(pandas.DataFrame(rows), "model", "difference", series="series", x_label=x_label)
