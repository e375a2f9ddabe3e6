"""Box plots of values: quartiles, and the 5th and 95th percentile."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import xarray as xr

from headlight.views.dimensions import ByWhich, as_dimensions, cells
from headlight.views.parts.section import Figure
from headlight.views.pictures import Box, BoxPanel, boxes as draw_boxes

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
        frame: Values as rows.
        box: Column of the labels of the boxes; a category that has no value keeps its place.
        value: Column of the values.
        panel: Column of the titles of the panels.
        colours: Colours of the values of the column ``series``, whose boxes stand side by side.
        columns: Panels in a row; as many as fit when None.
        names: Names of the same values for a legend; without them there is none.
        axes: Labels of the axes and limits of all panels; see `BoxPanel`.
    """
    labels = frame[box].astype("category").cat.categories

    def boxes_side_by_side(rows: pd.DataFrame) -> list[Box]:
        return [
            Box.from_values(
                "" if at else str(label),
                rows.loc[(rows[box] == label) & (rows["series"] == name), value].to_numpy(),
                colour,
            )
            for label in labels
            for at, (name, colour) in enumerate(colours.items())
        ]

    def draw() -> Figure:
        panels = [
            BoxPanel(str(title), boxes_side_by_side(rows), **axes)
            for title, rows in frame.groupby(panel, sort=False, observed=True)
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
        result: Result that holds the variable.
        variable: Variable with the dimension ``mark`` of `MARKS`.
        box: Dimension whose labels have a box each.
        panel: Title of a panel; ``{dimension}`` stands for a label of `by`.
        by: Dimensions whose labels have a panel each.
        colour: Name of a series of the report, or ``#rrggbb``.
        columns: Panels in a row; as many as fit when None.
        axes: Labels of the axes, their limits, and whether values are shares; see `BoxPanel`.
    """
    (across,) = as_dimensions(box)

    def draw() -> Figure:
        marks = result[[variable]].sel(mark=list(MARKS))
        panels = [
            BoxPanel(
                cell.said(panel),
                [
                    Box(str(label), colour=colour, **dict(zip(MARKS, five, strict=True)))
                    for label, five in zip(
                        across.labels(result),
                        cell.values.transpose(across.dim, "mark").values.tolist(),
                        strict=True,
                    )
                ],
                **axes,
            )
            for cell in cells(marks, variable, as_dimensions(by), (across.dim, "mark"))
        ]
        return draw_boxes(panels, columns=columns)

    return draw
