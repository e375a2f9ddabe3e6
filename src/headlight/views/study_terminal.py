"""The result of a study for the terminal: what was read, its main table and its few numbers."""

import xarray as xr
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from headlight.files import printable
from headlight.findings import equal_to_weight
from headlight.findings.what_was_read import what_was_read
from headlight.result.kinds import split_for_display
from headlight.views.exhibits import Table
from headlight.views.frames import frame_cells, numeric_columns
from headlight.views.numbers import decimal, grouped
from headlight.views.result_page import findings, summary, tables
from headlight.views.terminal import bullet, terminal_table
from headlight.views.words import subject
from headlight.vocabulary import NUMBERING

ROWS = 24
"""Of a table, at most; the rest is in the files."""


def study_terminal(result: xr.Dataset) -> RenderableType:
    """The result of any study in short.

    Raises:
        UnknownNameError: it is the result of no study.
    """
    parts = split_for_display(result)
    drawn = terminal_table if result.attrs.get("stage") == "survey" else _short
    read = what_was_read(result)
    lines: list[RenderableType] = [Text(printable(read.sentence))] if read.sentence else []
    lines += [Text(printable(caution), style="bold yellow") for caution in read.cautions]
    if result.attrs.get("stage") != "survey":  # whose own table says it
        lines += [bullet(each) for each in findings(result)]
    lines += [each for part in parts for each in (Text(), drawn(part))]
    return Group(*(lines if read.sentence else lines[1:]))


def _short(result: xr.Dataset) -> RenderableType:
    """The main table of one kind of attention, and its few numbers."""
    parts: list[RenderableType] = [Text(printable(subject(result)), style="bold")]
    main = next(iter(tables(result).values()), None)
    if main is not None:
        parts.append(_table(main))
        if equal := equal_to_weight(result):
            parts.append(Text(f"Effective attention is {equal}.", style="dim"))
        parts += [Text(NUMBERING, style="dim")] * ("head" in main.frame)
    numbers = RichTable.grid(padding=(0, 2, 0, 0))
    for name, value in summary(result).items():
        numbers.add_row(Text(name.replace("_", " ")), Text(_number(value), style="bold"))
    return Group(*parts, Text(), numbers)


def _table(table: Table) -> RenderableType:
    shown = table.frame.head(ROWS)
    cells = frame_cells(shown, table.formats)
    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name, number in zip(shown.columns, numeric_columns(cells, len(shown.columns)), strict=True):
        drawn.add_column(Text(printable(str(name))), justify="right" if number else "left")
    for row in cells:
        drawn.add_row(*(Text(printable(cell.text)) for cell in row))
    left = len(table.frame) - len(shown)
    caption = f"{table.caption}; {left} more rows in the files" if left else table.caption
    return Group(drawn, Text(printable(caption), style="dim"))


def _number(value: float | int | str) -> str:
    if isinstance(value, str):
        return printable(value)
    return grouped(float(value)) if isinstance(value, int) else decimal(value)
