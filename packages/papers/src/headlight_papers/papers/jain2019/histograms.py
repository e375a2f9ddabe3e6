"""Histograms over texts, by predicted class."""

import numpy as np
import pandas
import xarray
from jaxtyping import Float64

from headlight.views.parts import Curve, Drawing
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019.results import ENCODER_NAMES, Results
from headlight_papers.papers.jain2019.table_2_correlations import frame_of

COLOURS = {0: "#0072b2", 1: "#d1500a"}
"""Colours of the two classes, as in the lines."""

Values = Float64[np.ndarray, " _"]


def draw_histograms(
    writer: ExhibitWriter,
    results: Results,
    edges: Values,
    column: str,
    *,
    x_label: str,
    **words: str,
) -> Drawing:
    """Draw a panel for each model, with a histogram for each predicted class."""
    shares = {}
    for (title, encoder), result in results.items():
        frame, classes = frame_of(result), result["class"].values
        name = f"{title} ({', '.join(map(str, classes))}), {ENCODER_NAMES[encoder]}"
        rows = [
            outline(frame.loc[frame.predicted == number, column], edges)
            for number in range(len(classes))
        ]
        shares[name] = xarray.DataArray(rows, dims=("class", "corner"))
    joined = xarray.concat(list(shares.values()), pandas.Index(shares, name="model"))
    joined["edge"] = "corner", np.repeat(edges, 2)[1:-1]
    joined["class"] = joined["class"] + 1
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
    return writer.curves(
        joined.to_dataset(name="share"), curve, columns=len(ENCODER_NAMES), **words
    )


def outline(values: "pandas.Series[float]", edges: Values) -> Values:
    """Return the heights of a histogram as shares of all values, at both ends of each bin."""
    counts, _ = np.histogram(values.dropna(), edges)
    shares = counts / counts.sum() if counts.sum() else np.full(len(counts), np.nan)
    return np.repeat(shares, 2)
