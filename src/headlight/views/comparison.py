"""What a paper says and what was found, for the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from headlight.files import printable
from headlight.views.exhibits import Comparison, Exhibit, Table
from headlight.views.frames import frame_cells, numeric_columns

LONGEST = 16
"""Rows of a table that a terminal shows."""


def comparison_table(exhibit: Exhibit) -> RenderableType:
    """The numbers of an exhibit: published, ours, and the difference.

    Where nothing is compared number by number, such as of findings, these are its short tables;
    where there are none either, the names of its files.
    """
    heading = Text(printable(exhibit.title), style="bold")
    heading.append(f"  {printable(exhibit.source)}", style="dim")
    if exhibit.comparisons:
        return Group(heading, _published_and_ours(exhibit.comparisons))
    short = [_grid(table) for table in exhibit.tables if len(table.frame) <= LONGEST]
    if not short and exhibit.files:
        heading.append(f"\nsee {', '.join(map(printable, exhibit.files))}", style="not bold")
    return Group(heading, *short)


def _published_and_ours(comparisons: Sequence[Comparison]) -> Grid:
    grid = _empty_grid()
    grid.add_column("", overflow="fold")
    for name in ("published", "ours", "difference"):
        grid.add_column(name, justify="right", overflow="fold")
    for comparison in comparisons:
        published, ours, difference = (
            printable(text.replace("\u00a0", " ")) for text in comparison.texts
        )
        quantity = Text(printable(comparison.quantity))
        if comparison.note:
            quantity.append(f"\n  {printable(comparison.note)}", style="dim")
        grid.add_row(quantity, Text(published), Text(ours, style="bold"), Text(difference))
    return grid


def _grid(table: Table) -> Grid:
    """A table of an exhibit, numbers flush right."""
    grid = _empty_grid()
    cells = frame_cells(table.frame, table.formats, table.highlight)
    names = [printable(str(name)) for name in table.frame.columns]
    for name, numeric in zip(names, numeric_columns(cells, len(names)), strict=True):
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        grid.add_row(*(Text(printable(cell.text)) for cell in row))
    return grid


def _empty_grid() -> Grid:
    return Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
