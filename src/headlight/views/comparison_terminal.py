"""Published numbers beside ours, on a terminal."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.files import printable
from headlight.views.parts import Comparison, Section
from headlight.views.parts.section import Table
from headlight.views.terminal import terminal

LONGEST = 16
"""Rows of a table that a terminal shows."""


def comparison_table(section: Section) -> RenderableType:
    """Return the numbers of a section: published, ours, and the difference.

    Where nothing is compared number by number, such as in findings, return the short tables of the
    section; where there are none either, the names of its files.
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
    """Return the numbers beside each other, with their notes, if any."""
    names = ("published", "ours", "difference")
    rows = [
        {"quantity": comparison.quantity}
        | {
            name: text.replace("\u00a0", " ")
            for name, text in zip(names, comparison.texts, strict=True)
        }
        for comparison in comparisons
    ]
    frame = pd.DataFrame(rows)
    if any(comparison.note for comparison in comparisons):
        frame["note"] = [comparison.note for comparison in comparisons]
    return Table("comparisons", "", frame)
