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
