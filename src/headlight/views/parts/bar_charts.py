"""Bars and dots of the rows of a table."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import Any

import pandas as pd

from headlight.views.colours import series_styles
from headlight.views.parts.section import Figure
from headlight.views.pictures import BarRow, Mark, bars as draw_bars


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
        frame: Marks as rows, in the order of the picture, with the ends of intervals, if there are
            any, in ``low`` and ``high``.
        row: Column of the labels of the rows.
        value: Column of the values.
        series: Column of the labels that tell the marks of a row apart; a measure has its own
            colour. Without it, the marks are named after `value`.
        ticks: Columns of values to compare with, whose names label the ticks.
        note: Column of the words beside a row.
        colours: Colours of series that are no measures; by default chosen by their place.
        axis: Label and limits of the axis, and whether values are shares; see `pictures.bars`.
            With ``dots=False`` there are bars, which begin at zero.
    """

    def mark(record: Mapping[Hashable, Any]) -> Mark:
        name = str(record[series]) if series else value
        colour = colours.get(name, name if name in series_styles() else "")
        return Mark(name, record[value], record.get("low", nan), record.get("high", nan), colour)

    def draw() -> Figure:
        rows = [
            BarRow(
                str(label),
                [mark(record) for record in marks.to_dict("records")],
                {name: marks[name].iloc[0] for name in ticks},
                str(marks[note].iloc[0]) if note else "",
            )
            for label, marks in frame.groupby(row, sort=False)
        ]
        return draw_bars(rows, **{"dots": True, **axis})

    return draw
