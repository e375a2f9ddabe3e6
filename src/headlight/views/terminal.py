"""Tables and statistics on a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

import pandas as pd
import xarray as xr
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from headlight.catalogue import statistic_table
from headlight.files import printable
from headlight.findings import Highlight, equal_to_weight, highlights, name_of, surveyed
from headlight.findings.candidates import NOT_UNDERSTOOD, is_understood
from headlight.findings.estimates import plural
from headlight.findings.head_answers import HEAD_ANSWERS as SAID, NOTHING
from headlight.findings.statistics import measures_of, numbers_of, row_target
from headlight.views.colour import percent_text, plus_minus
from headlight.views.frames import frame_cells, numeric_columns
from headlight.views.parts import Comparison, Section
from headlight.views.parts.section import Table
from headlight.views.provenance import Subject, short_sentence
from headlight.vocabulary import NUMBERING

TOP = 10
"""Rows of single heads that are shown, unless another number is asked for."""
ROWS = 24
"""Rows of any other table."""
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
    """Return a table for a terminal, with its caption and what is left out.

    Rows of single heads are shown by their first number, the largest first, so that no head is
    shown for its place alone; other rows, and parts of a sum, as they stand.

    Args:
        table: what is shown; numbers of its `sums` are added up below.
        most: rows that are shown; by default `TOP` of single heads, and `ROWS` of others.
        whole: where everything is, such as ``in the files``.
    """
    if most is None:
        most = TOP if "head" in table.frame and not table.sums else ROWS
    table = table.ranked() if len(table.frame) > most else table
    frame = table.frame.reset_index(drop=True)
    hidden, shown_rows = len(frame) - most, frame.head(most)
    around = {name: [ends[at] for at in shown_rows.index] for name, ends in table.around.items()}
    if table.sums:
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
    """Return rows with the sum of what is left out, and of all."""
    first, rest = frame.columns[0], frame.iloc[most:]
    rows = [] if rest.empty else [(f"{len(rest):,} others", rest)]
    return [
        pd.DataFrame([{first: name} | {column: some[column].sum() for column in sums}])
        for name, some in [*rows, ("sum", frame)]
    ]


@dataclass(frozen=True)
class _Fitting:
    """A table with the columns that a terminal has room for; numbers are never shortened."""

    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    caption: str
    left: str
    whole: str
    note: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, and what is left out of it."""
        widths = self._widths(options.max_width)
        drawn = Grid(box=None, padding=(0, BETWEEN, 0, 0), pad_edge=False, header_style="bold")
        for at, width in widths.items():
            heading = Text("\n".join(wrap(self.names[at], width)) or self.names[at])
            side = "right" if self.numeric[at] else "left"
            drawn.add_column(heading, justify=side, width=width, overflow="fold")  # type: ignore[arg-type]
        for row in self.cells:
            drawn.add_row(*(Text(row[at]) for at in widths))
        yield from [Text(self.caption, style="bold")] * bool(self.caption)
        yield drawn
        missing = len(self.names) - len(widths)
        omissions = [self.left] * bool(self.left) + [f"{missing} more columns"] * bool(missing)
        rest = f"{' and '.join(omissions)} {self.whole}".strip() if omissions else ""
        notes = "; ".join(filter(None, (rest, printable(self.note).rstrip("."))))
        yield from [Text(notes, style="dim")] * bool(notes)

    def _widths(self, room: int) -> dict[int, int]:
        """Return the columns that are shown, and how wide each is.

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


_HEADS = 6
"""Heads in a table, which with what is said above it fills no more than a screen."""


def terminal_table(result: xr.Dataset) -> RenderableType:
    """Return a survey in short: what stands out most, and the heads of which more is said."""
    every = highlights(result)
    parts: list[RenderableType] = [Text(printable(str(Subject.of(result))), style="bold"), Text()]
    parts += [bullet(short_sentence(each.text), f"{at}") for at, each in enumerate(every[:SAID], 1)]
    if not every:
        parts.append(Text(NOTHING if is_understood(result) else NOT_UNDERSTOOD))
    frame = _heads(result, every)
    if len(frame):
        parts += [Text(), terminal(Table("heads", "", frame)), Text(NUMBERING, style="dim")]
    if equal := equal_to_weight(result):
        parts.append(Text(f"Effective attention is {equal}.", style="dim"))
    findings_left = sum(each.kind != "inconclusive" for each in every[SAID:])
    more = [f"{plural(findings_left, 'more finding')} in the report."] if findings_left else []
    more += [each.text for each in every[SAID:] if each.kind == "inconclusive"]
    return Group(*parts, *[Text(" ".join(more), style="dim")] * bool(more))


def _heads(result: xr.Dataset, every: Sequence[Highlight]) -> pd.DataFrame:
    """Return the heads that are spoken of for a share of their attention, by each measure."""
    row_of = {row.name: row for row in statistic_table() if row.unit == "share" and row.target}
    layers, rows = result["layer"].values.tolist(), []
    for each in every:
        row = row_of.get(each.question)
        if row is None or each.layer is None or each.head is None:
            continue
        at = (layers.index(each.layer), each.head)
        cells = {}
        for measure in surveyed(result):
            if measure.name in measures_of(result, row):
                one = numbers_of(result, row, measure.name).at(at)
                half = plus_minus(float(one.high - one.low) / 2, share=True)
                cells[measure.short] = f"{percent_text(float(one.value))}{half}"
        name = name_of(result, each.layer, each.head)
        rows.append({"head": name, "attends": f"to {row_target(result, row)}", **cells})
    return pd.DataFrame(rows[:_HEADS])


LONGEST = 16
"""Rows of a table that a terminal shows."""


def comparison_table(section: Section) -> RenderableType:
    """The numbers of a section: published, ours, and the difference.

    Where nothing is compared number by number, such as of findings, these are its short tables;
    where there are none either, the names of its files.
    """
    heading = Text(printable(section.title), style="bold")
    heading.append(f"  {printable(section.source)}", style="dim")
    if section.comparisons:
        return Group(heading, terminal(_published_and_ours(section.comparisons)))
    short = [terminal(table) for table in section.tables if len(table.frame) <= LONGEST]
    if not short and section.files:
        heading.append(f"\nsee {', '.join(map(printable, section.files))}", style="not bold")
    return Group(heading, *short)


def _published_and_ours(comparisons: Sequence[Comparison]) -> Table:
    """The numbers beside each other, with their notes where there are any."""
    names = ("published", "ours", "difference")
    rows = [
        {"quantity": each.quantity}
        | {name: text.replace("\u00a0", " ") for name, text in zip(names, each.texts, strict=True)}
        for each in comparisons
    ]
    frame = pd.DataFrame(rows)
    if any(each.note for each in comparisons):
        frame["note"] = [each.note for each in comparisons]
    return Table("comparisons", "", frame)
