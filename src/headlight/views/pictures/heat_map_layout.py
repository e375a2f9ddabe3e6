"""Layout of heat maps: the sizes of cells, and the labels and numbers that have room."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.panels import WIDEST
from headlight.views.pictures.theme import SMALL
from headlight.views.titles import shortened

_LARGEST, _COMFORTABLE, _SMALLEST = 0.5, 0.17, 0.075
"""Inches of a cell's width: maps stand side by side as long as their cells are comfortable."""

_HIGHEST, _LOWEST, _TALLEST_MAP = 0.3, 0.135, 9.0
_LINE = 0.125
"""Inches that a label needs across its direction of reading."""

_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_LOWEST_WITH_NUMBER = 0.14
"""Inches of a cell's height in which a number fits."""


@dataclass(frozen=True, slots=True)
class MapLayout:
    """Sizes in inches that all maps of a picture share.

    Attributes:
        across: Number of maps in a row.
        cell: Width and height of a cell.
        panel: Width and height of a map with its labels and its scale of colours.
        upright: Whether the labels of the columns are written upwards.
    """

    across: int
    cell: tuple[float, float]
    panel: tuple[float, float]
    upright: bool


def lay_out(
    shapes: Sequence[tuple[int, int]],
    rows: Sequence[str],
    columns: Sequence[str],
    across: int | None,
) -> MapLayout:
    """Return the layout of maps of these shapes, with all labels of their rows and columns."""
    most_rows = max(shape[0] for shape in shapes)
    most_columns = max(shape[1] for shape in shapes)
    beside = 1.3 + max(text_width(name, SMALL) for name in rows)
    choices = [across] if across else range(min(len(shapes), 3), 0, -1)
    widths = {count: (WIDEST / count - beside) / most_columns for count in choices}
    count = next((count for count in choices if widths[count] >= _COMFORTABLE), choices[-1])
    if not across and len(shapes) == count + 1:
        count = math.ceil(len(shapes) / 2)  # none alone in a row
    wide = min(max(widths[count], _SMALLEST), _LARGEST)
    high = min(max(wide, _LOWEST), _HIGHEST, max(_TALLEST_MAP / most_rows, _SMALLEST))
    top = max(text_width(name, SMALL) for name in columns)
    upright = top > 0.9 * wide
    over = 0.75 + (top if upright else 0.15)
    panel = (most_columns * wide + beside, most_rows * high + over)
    return MapLayout(count, (wide, high), panel, upright)


def label_texts(labels: Sequence[str] | None, count: int) -> list[str]:
    """Return labels as they can be shown; numbers where there are none."""
    if labels is None:
        return [str(index) for index in range(count)]
    return [shortened(label, 22) for label in labels]


def label_step(labels: Sequence[str], room: float) -> int:
    """Return the step between labels that fit, with ``room`` inches for every label.

    If some labels are empty, the others have been chosen already, and all are shown.
    """
    if not all(labels):
        return 1
    return next((step for step in _STEPS if step * room >= _LINE), _STEPS[-1])


def cell_texts(
    values: NDArray[np.float64], format: str, largest: float | None = None
) -> list[list[str]]:
    """Return short numbers of all cells in one form, since they only repeat the colours.

    Args:
        values: Values, [row, column].
        format: Python format of the numbers; by default what `largest` needs.
        largest: Largest of all numbers that share a form; by default the largest of `values`.
    """
    if largest is None:
        largest = float(np.nanmax(np.abs(values), initial=0.0))
    chosen = format or _format(largest)
    texts = [["" if not np.isfinite(v) else f"{v:{chosen}}" for v in row] for row in values]
    return texts if format or largest > 1 else [[_bare(text) for text in row] for row in texts]


def number_fits(text: str, cell: tuple[float, float]) -> bool:
    """Return whether a number fits a cell, as large as all other words."""
    return cell[1] >= _LOWEST_WITH_NUMBER and text_width(text, SMALL) <= 0.96 * cell[0]


def _format(largest: float) -> str:
    # The largest number has three digits.
    if 0 < largest < 1e-2 or largest >= 1e5:
        return ".1e"
    return f".{min(2, max(0, 2 - math.floor(math.log10(largest or 1))))}f"


def _bare(text: str) -> str:
    # ``.46`` and not ``0.46``; and no sign before a zero, which a small negative number rounds to.
    unsigned = text.removeprefix("-")
    sign = "-" if text != unsigned and unsigned.strip("0.e+") else ""
    return sign + (unsigned if "e" in unsigned else unsigned.replace("0.", ".", 1))
