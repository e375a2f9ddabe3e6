"""Surveys, and the numbers of papers beside ours, for the terminal, fit for eighty columns."""

from collections.abc import Sequence

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.catalogue import statistic_table
from headlight.files import printable
from headlight.findings import Highlight, equal_to_weight, highlights, name_of, surveyed
from headlight.findings.answers.heads import NOTHING, SAID
from headlight.findings.statistics import measures_of, numbers_of, row_target
from headlight.findings.wording import plural
from headlight.views.numbers import percent_text
from headlight.views.parts import Comparison, Section, Table
from headlight.views.terminal_tables import bullet, terminal
from headlight.views.words import Subject, short_sentence
from headlight.vocabulary import NUMBERING

_HEADS = 8
"""Heads in a table, which with what is said above it fills no more than a screen."""


def terminal_table(result: xr.Dataset) -> RenderableType:
    """Return a survey in short: what stands out most, and the heads of which more is said."""
    every = highlights(result)
    parts: list[RenderableType] = [Text(printable(str(Subject.of(result))), style="bold"), Text()]
    parts += [bullet(short_sentence(each.text), f"{at}") for at, each in enumerate(every[:SAID], 1)]
    if not every:
        parts.append(Text(NOTHING))
    frame = _heads(result, every)
    if len(frame):
        parts += [Text(), terminal(Table("heads", "", frame)), Text(NUMBERING, style="dim")]
    if equal := equal_to_weight(result):
        parts.append(Text(f"Effective attention is {equal}.", style="dim"))
    said = sum(each.kind != "inconclusive" for each in every[SAID:])
    more = [f"{plural(said, 'more finding')} in the report."] if said else []
    more += [each.text for each in every[SAID:] if each.kind == "inconclusive"]
    return Group(*parts, *[Text(), Text(" ".join(more), style="dim")] * bool(more))


def _heads(result: xr.Dataset, every: Sequence[Highlight]) -> pd.DataFrame:
    """Return the heads that are spoken of for a share of their attention, by each measure."""
    known = {row.name: row for row in statistic_table() if row.unit == "share" and row.target}
    layers, rows = result["layer"].values.tolist(), []
    for each in every:
        row = known.get(each.question)
        if row is None or each.layer is None or each.head is None:
            continue
        at = (layers.index(each.layer), each.head)
        cells = {
            measure.short: percent_text(float(numbers_of(result, row, measure.name).value[at]))
            for measure in surveyed(result)
            if measure.name in measures_of(result, row)
        }
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
