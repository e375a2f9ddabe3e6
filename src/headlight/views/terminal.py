"""Tables and lists on a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

import pandas as pd
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from headlight.files import printable
from headlight.findings.phrases import plural
from headlight.views.parts.section import Table
from headlight.views.table_cells import frame_cells, numeric_columns

TOP = 10
"""Number of rows of single heads that are shown by default."""
ROWS = 24
"""Number of rows of any other table."""
NAME, SHORTEST = 40, 12
"""Letters of a line of words at least, where there is not room for all of them: of the first
column, which names the row, and of others."""
BETWEEN = 2
"""Blanks between columns."""


def bullet(words: str, mark: str = "•") -> RenderableType:
    """Return a sentence of a list, behind its mark."""
    table = Grid.grid(padding=(0, 1))
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row(Text(mark), Text(printable(words)))
    return Padding(table, (0, 0, 0, 1))


def terminal(table: Table, most: int | None = None, *, whole: str = "") -> RenderableType:
    """Return a table for a terminal, with its caption and the number of rows left out.

    Rows of single heads are shown by their first number, the largest first, so that no head is
    shown for its place alone; other rows, and parts of a sum, as they stand.

    Args:
        table: Table that is shown; numbers of its `sums` are added up below.
        most: Maximum number of rows; by default `TOP` of single heads, and `ROWS` of others.
        whole: Place of the whole table, such as ``in the files``.
    """
    if most is None:
        most = TOP if "head" in table.frame and not table.sums else ROWS
    table = table.ranked() if len(table.frame) > most else table
    frame = table.frame.reset_index(drop=True)
    hidden, shown_rows = len(frame) - most, frame.head(most)
    around = {name: [ends[at] for at in shown_rows.index] for name, ends in table.around.items()}
    if table.sums:
        # As objects, whole numbers stay whole beside sums that have none in their column.
        whole_numbers = {name: object for name in frame if frame[name].dtype.kind == "i"}
        parts = [shown_rows.astype(whole_numbers), *_totals(frame, most, table.sums)]
        shown_rows = pd.concat(parts, ignore_index=True)
    cells = [
        [printable(cell.text) for cell in row]
        for row in frame_cells(shown_rows, table.formats, around=around)
    ]
    numeric = numeric_columns(frame_cells(shown_rows, table.formats), len(shown_rows.columns))
    names = [printable(str(name)) for name in shown_rows.columns]
    hidden_rows = f"{hidden:,} more rows" if hidden > 0 and not table.sums else ""
    return _Fitting(names, cells, numeric, printable(table.caption), hidden_rows, whole, table.note)


def _totals(frame: pd.DataFrame, most: int, sums: Iterable[str]) -> list[pd.DataFrame]:
    """Return rows with the sums of the rows left out, and of all rows."""
    first, rest = frame.columns[0], frame.iloc[most:]
    rows = [] if rest.empty else [(f"{len(rest):,} others", rest)]
    return [
        pd.DataFrame([{first: name} | {column: some[column].sum() for column in sums}])
        for name, some in [*rows, ("sum", frame)]
    ]


@dataclass(frozen=True)
class _Fitting:
    """Table with the columns that a terminal has room for; numbers are never shortened."""

    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    caption: str
    left: str
    whole: str
    note: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the caption, the table, and a note on the rows and columns left out."""
        widths = self._widths(options.max_width)
        drawn = Grid(box=None, padding=(0, BETWEEN, 0, 0), pad_edge=False, header_style="bold")
        for at, width in widths.items():
            heading = Text("\n".join(wrap(self.names[at], width)) or self.names[at])
            side = "right" if self.numeric[at] else "left"
            drawn.add_column(heading, justify=side, width=width, overflow="fold")  # type: ignore[arg-type]
        for row in self.cells:
            drawn.add_row(*(Text(row[at]) for at in widths))
        if self.caption:
            yield Text(self.caption, style="bold")
        yield drawn
        missing = len(self.names) - len(widths)
        omissions = [self.left] if self.left else []
        if missing:
            omissions.append(plural(missing, "more column"))
        rest = f"{' and '.join(omissions)} {self.whole}".strip() if omissions else ""
        notes = "; ".join(filter(None, (rest, printable(self.note).rstrip("."))))
        if notes:
            yield Text(notes, style="dim")

    def _widths(self, room: int) -> dict[int, int]:
        """Return the columns that are shown, with their widths.

        Columns of words become narrower before one of them is left out, from the last on, and
        numbers are left out last.
        """
        widths = {at: self._width(at) for at in range(len(self.names))}
        words = [at for at in widths if not self.numeric[at]]
        while len(widths) > 1 and sum(widths.values()) + BETWEEN * (len(widths) - 1) > room:
            wide = max(words, key=lambda at: widths[at], default=None)
            if wide is not None and widths[wide] > max(
                self._heading(wide), SHORTEST if wide else NAME
            ):
                widths[wide] -= 1
                continue
            last = words[-1] if words and words[-1] != 0 else max(widths)
            del widths[last]
            words = [at for at in words if at in widths]
        return widths

    def _width(self, at: int) -> int:
        longest = max((cell_len(row[at]) for row in self.cells), default=0)
        return max(self._heading(at), longest, 1)

    def _heading(self, at: int) -> int:
        return max(map(cell_len, self.names[at].split()), default=0)
