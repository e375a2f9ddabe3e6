"""Cells of a table as text."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from headlight.errors import UsageError
from headlight.views.number_formats import MINUS, MISSING, decimal, grouped


@dataclass(frozen=True, slots=True)
class FrameCell:
    """Cell with its text, the number it stands for (None for none), and whether it stands out."""

    text: str
    order: float | None = None
    strong: bool = False


def frame_cells(
    frame: pd.DataFrame,
    formats: Mapping[str, str],
    highlight: Collection[tuple[int, str]] = (),
    around: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> list[list[FrameCell]]:
    """Return the cells of a frame, row by row; its index is left out.

    Args:
        frame: Frame of any values; None and NaN become a dash.
        formats: Python formats of the numbers of columns, by column.
        highlight: Row numbers and columns of the cells that stand out.
        around: Half widths of the intervals of some columns, in the units of these.

    Raises:
        UsageError: A format or a highlight names a column that is not there, or a format does not
            fit its numbers.
    """
    names = [str(name) for name in frame.columns]
    for name in [*formats, *around, *(column for _, column in highlight)]:
        if name not in names:
            raise UsageError(
                f"there is no column {name!r} in the table; it has {', '.join(names)}."
            )
    strong = set(highlight)
    return [
        [
            _cell(
                value,
                formats.get(name, ""),
                strong=(row, name) in strong,
                half=around[name][row] if name in around else math.nan,
            )
            for name, value in zip(names, values, strict=True)
        ]
        for row, values in enumerate(frame.itertuples(index=False, name=None))
    ]


def numeric_columns(cells: list[list[FrameCell]], count: int) -> list[bool]:
    """Return the columns that hold numbers, and so are set flush right."""
    return [
        any(row[column].order is not None for row in cells)
        and all(row[column].order is not None or row[column].text == MISSING for row in cells)
        for column in range(count)
    ]


def _cell(value: object, format: str, *, strong: bool, half: float) -> FrameCell:
    if value is None or value is pd.NaT or value is pd.NA:
        return FrameCell(MISSING, strong=strong)
    # Before numbers, as a bool is an int.
    if isinstance(value, bool | np.bool_):
        return FrameCell("yes" if value else "no", strong=strong)
    if not isinstance(value, int | float | np.number):
        return FrameCell(str(value), strong=strong)
    number = float(value)
    if not math.isfinite(number):
        return FrameCell(MISSING if math.isnan(number) else str(number), strong=strong)
    around = f" ±{_written(half, format)}" if math.isfinite(half) else ""
    return FrameCell(f"{_written(value, format)}{around}", number, strong)


def _written(value: int | float | np.number, format: str) -> str:
    if not format:
        whole = isinstance(value, int | np.integer)
        return (grouped if whole else decimal)(float(value)).replace("-", MINUS)
    try:
        return f"{value:{format}}".replace("-", MINUS)
    except (ValueError, TypeError) as error:
        raise UsageError(f"the format {format!r} does not fit the number {value}.") from error
