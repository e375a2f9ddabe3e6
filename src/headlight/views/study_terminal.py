"""The result of a study for the terminal: what was read, its main table and its few numbers."""

from itertools import accumulate
from textwrap import wrap

import xarray as xr
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from headlight.files import printable
from headlight.findings import equal_to_weight
from headlight.findings.what_was_read import what_was_read
from headlight.result.kinds import split_for_display
from headlight.views.frames import frame_cells, numeric_columns
from headlight.views.numbers import decimal, grouped
from headlight.views.parts import Table
from headlight.views.result_page import findings, summary, tables
from headlight.views.terminal import bullet, terminal_table
from headlight.views.words import Subject
from headlight.vocabulary import NUMBERING

ROWS = 24
"""Of a table, at most; the rest is in the files."""
LONGEST = 40
"""Characters of a cell that stand in one line."""
BETWEEN = 2
"""Blanks between columns."""


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
    blank = isinstance(lines[0], Text) and not lines[0].plain
    return Group(*lines[blank:])


def _short(result: xr.Dataset) -> RenderableType:
    """The main table of one kind of attention, and its few numbers."""
    parts: list[RenderableType] = [Text(printable(str(Subject.of(result))), style="bold")]
    main = next((table for table in tables(result).values() if len(table.frame)), None)
    if main is not None:
        parts.append(_Fitting(main))
        if equal := equal_to_weight(result):
            parts.append(Text(f"Effective attention is {equal}.", style="dim"))
        parts += [Text(NUMBERING, style="dim")] * ("head" in main.frame)
    numbers = RichTable.grid(padding=(0, 2, 0, 0))
    for name, value in summary(result).items():
        numbers.add_row(Text(name.replace("_", " ")), Text(_number(value), style="bold"))
    return Group(*parts, Text(), numbers)


class _Fitting:
    """A table with the columns, from the first on, that the terminal has room for.

    Nothing in them is shortened: headings are broken between words, and what is longer than
    `LONGEST` anywhere.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._shown = table.frame.head(ROWS)
        self._rows = [
            [printable(cell.text) for cell in row]
            for row in frame_cells(self._shown, table.formats, around=table.around)
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, and what is left out of it."""
        names = [printable(str(name)) for name in self._shown.columns]
        widths = [self._width(name, at) for at, name in enumerate(names)]
        ends = list(accumulate(width + BETWEEN for width in widths))
        number = max(1, sum(end - BETWEEN <= options.max_width for end in ends))
        numeric = numeric_columns(frame_cells(self._shown, self._table.formats), len(names))
        drawn = RichTable(box=None, padding=(0, BETWEEN, 0, 0), pad_edge=False, header_style="bold")
        for name, width, right in zip(names[:number], widths, numeric, strict=False):
            heading = Text("\n".join(wrap(name, width)))
            drawn.add_column(
                heading, justify="right" if right else "left", min_width=width, overflow="fold"
            )
        for row in self._rows:
            drawn.add_row(*map(Text, row[:number]))
        yield drawn
        yield Text(printable(self._caption(len(names) - number)), style="dim")

    def _width(self, name: str, at: int) -> int:
        words = max(map(cell_len, name.split()), default=0)
        return max(words, min(LONGEST, max((cell_len(row[at]) for row in self._rows), default=0)))

    def _caption(self, columns: int) -> str:
        rows = len(self._table.frame) - len(self._shown)
        left = [f"{rows} more rows"] * bool(rows) + [f"{columns} more columns"] * bool(columns)
        return "; ".join(
            [self._table.caption, *([f"{' and '.join(left)} in the files"] * bool(left))]
        )


def _number(value: float | int | str) -> str:
    if isinstance(value, str):
        return printable(value)
    return grouped(float(value)) if isinstance(value, int) else decimal(value)
