"""Parts of pages: bars, boxes, alignments, and facts of a result.

Parts of pages of results: sections with tables and pictures of the result's variables.
A `Section` answers one question. Its tables are made of `Columns`, its pictures of `Map` and
`Curve`: each names a variable, and takes rows, intervals and labels from the dimensions, bounds and
attributes of the result. What is none of these three is a function that makes a figure: `bars` of
the rows of a table, `boxes` of values, and the shapes of `headlight.views.pictures` that few have.
"""

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.findings import category_label, occurs
from headlight.views.colour import series_styles
from headlight.views.frames import ByWhich, cells, each_by
from headlight.views.parts.curves import Curve, curves
from headlight.views.parts.section import (
    By,
    Columns,
    Comparison,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    columns,
    maps,
)
from headlight.views.pictures import (
    BarRow,
    Box,
    BoxPanel,
    DensityPanel,
    Embedding,
    HeadMap,
    LinkDrawing,
    Mark,
    Reference,
    attention_lines,
    bars as draw_bars,
    boxes as draw_boxes,
    dendrogram,
    density,
    embedding,
    head_map,
    save_picture,
    table_picture,
    weight_and_length,
    windowed,
)
from headlight.views.provenance import shortened

__all__ = [
    "MARKS",
    "By",
    "Columns",
    "Comparison",
    "Curve",
    "DensityPanel",
    "Drawing",
    "DrawnAlignment",
    "Embedding",
    "Figure",
    "LinkDrawing",
    "Map",
    "Reference",
    "Section",
    "Summary",
    "Table",
    "alignment_picture",
    "attending_rows",
    "attention_lines",
    "bars",
    "boxes",
    "boxes_of",
    "categories",
    "columns",
    "curves",
    "dendrogram",
    "density",
    "embedding",
    "maps",
    "mean_of",
    "rounded",
    "save_picture",
    "sentence_links",
    "settings_of",
    "table_picture",
    "weight_and_length",
    "windowed",
]

MARKS = ("low", "first", "median", "third", "high")
"""Labels of the dimension ``mark``: the ends of the whiskers, the quartiles and the median."""


def boxes(
    frame: pd.DataFrame,
    box: str,
    value: str,
    *,
    panel: str,
    colours: Mapping[Any, str],
    columns: int | None = None,
    names: Mapping[Any, str] | None = None,
    **axes: Any,
) -> Callable[[], Figure]:
    """Return a function that draws the quartiles of values, and their 5th and 95th percentile.

    Args:
        frame: A value in each row.
        box: The column of the labels of the boxes; a category that has no value keeps its place.
        value: That of the values.
        panel: That of the titles of the panels.
        colours: Of each value of the column ``series``, whose boxes stand beside each other.
        columns: Panels in a row; as many as fit when None.
        names: Of the same values for a legend; without them there is none.
        axes: Labels of the axes and limits of all panels; see `BoxPanel`.
    """
    labels = frame[box].astype("category").cat.categories

    def of(some: pd.DataFrame) -> list[Box]:
        return [
            Box.of(
                "" if at else str(label),
                some.loc[(some[box] == label) & (some["series"] == name), value].to_numpy(),
                colour,
            )
            for label in labels
            for at, (name, colour) in enumerate(colours.items())
        ]

    def draw() -> Figure:
        panels = [
            BoxPanel(str(title), of(some), **axes)
            for title, some in frame.groupby(panel, sort=False, observed=True)
        ]
        legend = {name: colours[value] for value, name in (names or {}).items()}
        return draw_boxes(panels, columns=columns, colours=legend)

    return draw


def boxes_of(
    result: xr.Dataset,
    variable: str,
    box: ByWhich,
    *,
    panel: str = "",
    by: ByWhich = (),
    colour: str = "",
    columns: int | None = None,
    **axes: Any,
) -> Callable[[], Figure]:
    """Return a function that draws a box for each label, from a variable with its five marks.

    Args:
        result: Whose variable it is.
        variable: With the dimension ``mark`` of `MARKS`.
        box: The dimension whose labels have a box each.
        panel: The title of a panel; ``{dimension}`` stands for a label of `by`.
        by: Dimensions each label of which has a panel.
        colour: Of a series of the report, or ``#rrggbb``.
        columns: Panels in a row; as many as fit when None.
        axes: Labels of the axes, their limits, and whether values are shares; see `BoxPanel`.
    """
    (across,) = each_by(box)

    def draw() -> Figure:
        marks = result[[variable]].sel(mark=list(MARKS))
        panels = [
            BoxPanel(
                each.said(panel),
                [
                    Box(str(label), colour=colour, **dict(zip(MARKS, five, strict=True)))
                    for label, five in zip(
                        across.labels(result),
                        each.values.transpose(across.dim, "mark").values.tolist(),
                        strict=True,
                    )
                ],
                **axes,
            )
            for each in cells(marks, variable, each_by(by), (across.dim, "mark"))
        ]
        return draw_boxes(panels, columns=columns)

    return draw


Link = tuple[int, int]
"""The number of a source word and that of a target word."""

NAMED = 40
"""Letters of a sentence that name its pair."""
MOST_WORDS = 60
"""Maximum number of words of a sentence that is drawn; those of longer ones could not be read."""


@dataclass(frozen=True)
class DrawnAlignment:
    """One pair of sentences.

    Attributes:
        name: Where it is from.
        source: Its words.
        target: The words of the translation.
        soft: By measure, the share of each source word (column) in the row of a target word; or
            how similar the two are, from 0 to 1.
        links: Those that were found.
        gold: Those that people made, which are framed; without them, those that were found are.
    """

    name: str
    source: Sequence[str]
    target: Sequence[str]
    soft: Mapping[str, Float[np.ndarray, "target_word source_word"]]
    links: Collection[Link]
    gold: Collection[Link] | None = None

    def section(self, number: int) -> Section:
        """Return the section of the pair on a page, on which it has this number."""
        source, target = " ".join(self.source), " ".join(self.target)
        too_long = max(len(self.source), len(self.target)) > MOST_WORDS
        alternative = f"Soft alignment of {source} and {target}."
        drawing = Drawing("soft", "", alternative, lambda: alignment_picture(self))
        return Section(
            f"pair-{number}",
            f"Pair {number}: {shortened(source, NAMED)}",
            f"{source} → {target}",
            self.name,
            drawings=[drawing] if self.soft and not too_long else [],
            notes=["The sentences are too long to be drawn."] if too_long else [],
        )


def alignment_picture(drawn: DrawnAlignment) -> Figure:
    """Draw soft alignments side by side: target words down, source words across.

    After Kobayashi et al. (2020), Figures 8 and 13 to 17.
    """
    framed = drawn.links if drawn.gold is None else drawn.gold
    maps = [
        HeadMap(
            measure,
            np.abs(values),
            list(drawn.target),
            list(drawn.source),
            row_label="target",
            column_label="source",
            scale=measure if measure in ("weight", "norm", "effective", "gradient") else "weight",
            limits=_limits(measure, values),
            framed=[(target, source) for source, target in sorted(framed)],
        )
        for measure, values in drawn.soft.items()
    ]
    return head_map(maps, annotate=False)


def _limits(
    measure: str, values: Float[np.ndarray, "target_word source_word"]
) -> tuple[float, float]:
    """Return the limits: 0 to 1 for shares, their own range for similarities."""
    least, most = float(np.min(values)), float(np.max(values))
    return (least, most) if measure == "similarity" and least < most else (0.0, 1.0)


def bars(
    frame: pd.DataFrame,
    row: str,
    value: str,
    *,
    series: str = "",
    ticks: Sequence[str] = (),
    note: str = "",
    colours: Mapping[str, str] = MappingProxyType({}),
    **axis: Any,
) -> Callable[[], Figure]:
    """Return a function that draws a row for each label of a column, with a mark for each series.

    Args:
        frame: A mark in each row, in the order of the picture, with the ends of its interval in
            ``low`` and ``high``, where there is one.
        row: The column of the labels of the rows.
        value: That of what is shown.
        series: That of the labels by which the marks of a row are told apart; a measure has its
            own colour. Without, the marks are called as `value` is.
        ticks: Those of values to compare with, by whose names they are called.
        note: That of the words beside a row.
        colours: Of series that are no measures; by default by their place.
        axis: Its label and limits, and whether values are shares; see `pictures.bars`. With
            ``dots=False`` there are bars, which begin at zero.
    """

    def mark(one: Mapping[Hashable, Any]) -> Mark:
        name = str(one[series]) if series else value
        colour = colours.get(name, name if name in series_styles() else "")
        return Mark(name, one[value], one.get("low", nan), one.get("high", nan), colour)

    def draw() -> Figure:
        rows = [
            BarRow(
                str(label),
                [mark(one) for one in some.to_dict("records")],
                {name: some[name].iloc[0] for name in ticks},
                str(some[note].iloc[0]) if note else "",
            )
            for label, some in frame.groupby(row, sort=False)
        ]
        return draw_bars(rows, **{"dots": True, **axis})

    return draw


ATTENDING_ROWS = {"all": "all tokens", "first": "the first token", "last": "the last token"}


def settings_of(result: xr.Dataset) -> dict[str, Any]:
    """The settings of the run that made a result; none where it says nothing of them."""
    return dict(json.loads(str(result.attrs.get("settings", "{}"))))


def attending_rows(result: xr.Dataset) -> str:
    """Return the tokens whose rows of attention were changed, in words."""
    return ATTENDING_ROWS[settings_of(result).get("rows", "all")]


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


def mean_of(values: xr.DataArray | NDArray[Any]) -> float:
    """The mean of the finite numbers; NaN if there are none."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if finite.size else float("nan")


def rounded(summary: Mapping[str, float | int | str]) -> Summary:
    """A summary without the numbers that are missing."""
    return {
        name: value
        for name, value in summary.items()
        if not isinstance(value, float) or np.isfinite(value)
    }


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
    predicted, right = (here[f"sentence_{name}"].values for name in ("found", "right"))
    in_question = np.flatnonzero(predicted >= 0)
    weights = np.zeros((len(words), len(words)))
    weights[in_question, predicted[in_question].astype(int)] = 1
    links = [(int(word), int(predicted[word])) for word in in_question if right[word]]
    return LinkDrawing(title, words, words, weights, [note], links=links, darkest=1.0)
