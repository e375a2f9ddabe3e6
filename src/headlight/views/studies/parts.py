"""The parts that the page of every study is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headlight.findings import category_label, occurs
from headlight.views.exhibits import Table
from headlight.views.pictures import HeadMap, LayerPanel, LayerSeries, LinkDrawing

Figure = Any
Summary = dict[str, float | int | str]
"""The few numbers that say what was found, by name."""

COLOURED = ("weight", "norm", "effective", "gradient", "attribution")
"""Lines that have a colour of their own."""


IMPORTANCE_NAMES = {
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
}
"""Measures of what is important to an answer, where a page calls them otherwise."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is drawn when it is asked for.

    Attributes:
        name: By which it is asked for.
        caption: What it shows.
        alternative: The words that stand for it where it cannot be seen.
        draw: Makes the matplotlib figure.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, slots=True)
class Section:
    """One question that a study answers, with its pictures and tables.

    Attributes:
        name: The anchor on the page.
        title: What it shows, in a few words.
        explanation: How to read it.
        source: The paper that it follows.
        drawings: Drawn in this order.
        tables: Shown in this order.
        group: The kind of attention, where a page has several; only heads of one are the same.
    """

    name: str
    title: str
    explanation: str
    source: str = ""
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    group: str = ""


def categories(result: xr.Dataset, dim: str = "key_category") -> dict[str, str]:
    """The categories along a dimension, with the names that the tokenizer gives them.

    Categories of attended tokens of which there is no token are left out.
    """
    attending = dim == "query_category"
    return {
        name: category_label(result, name, attending=attending)
        for name in map(str, result[dim].values)
        if attending or occurs(result, name)
    }


def layer_panel(
    title: str, series: Mapping[str, xr.DataArray], *, percent: bool = False, y_label: str = ""
) -> LayerPanel:
    """A panel of values by layer; a series that is named as a measure has its colour.

    Layers that were not looked at have a gap.

    Args:
        title: Over the panel.
        series: Values over ``layer``, or ``layer`` and ``head``, by the name of the line.
        percent: Whether values are shares.
        y_label: Of the vertical axis.
    """
    layers = next(iter(series.values()))["layer"].values
    every = range(int(layers.min()), int(layers.max()) + 1)
    drawn = [
        LayerSeries(
            label,
            values.reindex(layer=every).transpose("layer", ...).values,
            label if label in COLOURED else "",
        )
        for label, values in series.items()
    ]
    heads = [values["head"].values for values in series.values() if "head" in values.dims]
    whole = all(np.array_equal(each, range(len(each))) for each in heads)
    return LayerPanel(
        title, drawn, y_label, percent, first_layer=every[0], named=bool(heads) and whole
    )


def map_of_heads(title: str, values: xr.DataArray, **settings: Any) -> HeadMap:
    """A heat map of values over ``layer`` and ``head``, which are numbered as in the model.

    Args:
        title: Over the map.
        values: Over `layer` and `head`.
        settings: Of the map; see `HeadMap`.
    """
    rows, columns = ([str(n) for n in values[name].values] for name in ("layer", "head"))
    shown = values.transpose("layer", "head").values
    return HeadMap(title, shown, rows, columns, named=True, **settings)


def sentence_links(here: xr.Dataset, title: str, note: str) -> LinkDrawing | None:
    """The sentence that a result keeps, as lines from words to what a head says of them.

    Those that are right are red; None where there is no sentence.

    Args:
        here: The result, of one measure and one of what was asked.
        title: Over the drawing.
        note: Under the title.
    """
    if "sentence_word" not in here:
        return None
    words = [str(word) for word in here["sentence_word"].values if word]
    if not words:
        return None
    found, right = (here[f"sentence_{name}"].values for name in ("found", "right"))
    asked = np.flatnonzero(found >= 0)
    weights = np.zeros((len(words), len(words)))
    weights[asked, found[asked].astype(int)] = 1
    links = [(int(word), int(found[word])) for word in asked if right[word]]
    return LinkDrawing(title, words, words, weights, [note], links=links, darkest=1.0)


def frame_of(
    values: xr.DataArray, row: str, column: str, names: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Values of two dimensions as a frame whose first column names the rows.

    Args:
        values: Over `row` and `column`.
        row: The dimension whose labels are the first column.
        column: The dimension whose labels are the other columns.
        names: Other names for these.
    """
    labels = [str(label) for label in values[column].values]
    columns = [(names or {}).get(label, label) for label in labels]
    frame = pd.DataFrame(values.transpose(row, column).values, columns=columns)
    frame.insert(0, row, values[row].values)
    return frame


def percentages(frame: pd.DataFrame, *columns: str) -> dict[str, str]:
    """The format of percentages for some columns; by default for all but the first."""
    return dict.fromkeys(columns or map(str, frame.columns[1:]), ".1%")


def mean_of(values: xr.DataArray | NDArray[Any]) -> float:
    """The mean of the finite numbers; NaN if there are none."""
    seen = np.asarray(values, dtype=np.float64)
    seen = seen[np.isfinite(seen)]
    return float(seen.mean()) if seen.size else float("nan")


def rounded(summary: Mapping[str, float | int | str]) -> Summary:
    """A summary without the numbers that are missing."""
    return {
        name: value
        for name, value in summary.items()
        if not isinstance(value, float) or np.isfinite(value)
    }
