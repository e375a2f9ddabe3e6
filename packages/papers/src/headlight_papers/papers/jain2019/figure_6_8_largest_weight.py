"""Figures 6 and 8: permuted and adversarial attention, by the largest weight."""

from functools import partial
from typing import Any

import pandas

from headlight.views.parts import Section
from headlight.views.parts.box_plots import boxes
from headlight_papers.papers.attention_comparison import LARGEST, by_largest
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.histograms import COLOURS
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, load_all, notes_of
from headlight_papers.papers.jain2019.table_2_correlations import frame_of
from headlight_papers.papers.reproduction import Reproduction


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
