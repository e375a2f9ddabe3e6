"""Tables as pictures."""

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from headlight.errors import UsageError
from headlight.views.pictures.label_placing import text_width
from headlight.views.pictures.panels import blank
from headlight.views.pictures.theme import (
    FAINT,
    INK,
    LARGE,
    LINE,
    PLAIN,
    QUIET,
    Axes,
    Figure,
    picture,
)
from headlight.views.table_cells import FrameCell, frame_cells, numeric_columns
from headlight.views.titles import shortened

_ROW, _PAD, _MARGIN, _LONGEST = 0.235, 0.13, 0.12, 48


@picture
def table_picture(
    frame: pd.DataFrame,
    *,
    formats: Mapping[str, str] | None = None,
    highlight: Collection[tuple[int, str]] = (),
    title: str = "",
) -> Figure:
    """Draw a table with thin rules, numbers flush right, highlighted cells bold and tinted.

    Args:
        frame: Frame whose first column names the rows; the index is not shown.
        formats: Python formats by column, as in ``Table``.
        highlight: Row numbers and columns of the cells that stand out.
        title: Title over the table.

    Raises:
        UsageError: The table has no columns, or a format or highlight does not fit it.
    """
    if not len(frame.columns):
        raise UsageError("a table needs at least one column; this one has none.")
    cells = frame_cells(frame, formats or {}, highlight)
    names = [shortened(str(name), _LONGEST) for name in frame.columns]
    right = numeric_columns(cells, len(names))
    widths = [_width(name, [row[c] for row in cells]) for c, name in enumerate(names)]
    top = _MARGIN + (0.3 if title else 0.0)
    bottom = top + _ROW * (len(cells) + 1)
    figure, axes = blank(sum(widths) + 2 * _MARGIN, bottom + _MARGIN)
    if title:
        name = shortened(title, _LONGEST)
        axes.text(_MARGIN + _PAD, _MARGIN + 0.1, name, size=LARGE, weight="bold", va="center")
    lefts = [_MARGIN + sum(widths[:column]) for column in range(len(names))]
    header = [FrameCell(name) for name in names]
    for row, line in enumerate([header, *cells]):
        y = top + _ROW * (row + 0.5)
        for cell, start, width, flush in zip(line, lefts, widths, right, strict=True):
            _draw_sheet(axes, cell, (start, y, width), flush_right=flush, head=row == 0)
    _rules(axes, (_MARGIN, _MARGIN + sum(widths)), [top, top + _ROW, bottom])
    return figure


def _width(name: str, column: Sequence[FrameCell]) -> float:
    """Return the width of a column in inches."""
    texts = [text_width(name, PLAIN, "bold")]
    texts += [
        text_width(shortened(cell.text, _LONGEST), PLAIN, "bold" if cell.strong else "normal")
        for cell in column
    ]
    return max(texts) + 2 * _PAD


def _draw_sheet(
    axes: Axes, cell: FrameCell, box: tuple[float, float, float], *, flush_right: bool, head: bool
) -> None:
    from matplotlib.patches import Rectangle

    start, y, width = box
    if cell.strong:
        axes.add_patch(Rectangle((start, y - _ROW / 2), width, _ROW, color=FAINT, linewidth=0))
    axes.text(
        start + width - _PAD if flush_right else start + _PAD,
        y + 0.043,  # the base line is that far below the middle of a row
        shortened(cell.text, _LONGEST),
        ha="right" if flush_right else "left",
        va="baseline",
        size=PLAIN,
        weight="bold" if cell.strong or head else "normal",
        color=QUIET if head else INK,
    )


def _rules(axes: Axes, ends: tuple[float, float], heights: Sequence[float]) -> None:
    for y in heights:
        axes.plot(ends, (y, y), color=LINE, linewidth=0.9, solid_capstyle="butt")
