"""Surveys, and the numbers of papers beside ours, for the terminal, fit for eighty columns."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.files import printable
from headlight.findings import (
    average,
    category_label,
    equal_to_weight,
    highlights,
    observed,
    share,
    surveyed,
)
from headlight.findings.estimates import estimates
from headlight.findings.observed import TOTALS
from headlight.findings.special_tokens import shares_of
from headlight.views.numbers import MISSING, two_decimals, whole_percent
from headlight.views.parts import Comparison, Section, Table
from headlight.views.terminal_table import bullet, terminal
from headlight.views.words import Subject
from headlight.vocabulary import (
    CATEGORIES,
    NEIGHBOURS,
    NUMBERING,
)

_TERMS = (
    ("CV‖f‖", "vector_norm_cv", "how much the lengths of vectors vary"),
    ("A⊥~α", "effective_correlation_by_head", "r of effective attention and weight"),
)
"""Columns that need a word: label, variable, meaning."""
_SIDE_BY_SIDE = 2
"""Measures that share a cell; more have no room."""


def terminal_table(result: xr.Dataset) -> RenderableType:
    """A survey in short: a row per layer, and what stands out.

    A cell such as ``41/9`` says that a category gets 41% of the first measure, the weight, and 9%
    of the second, the norm.
    """
    shown = "/".join(row.short for row in surveyed(result)[:_SIDE_BY_SIDE])
    caption = f"{shown} in %, entropy in nats, means over heads" if shown else "in %"
    for row in surveyed(result, per_head=False):
        caption += f"; own {row.symbol}: {row.short} of a token to itself, in %"
    for label, name, meaning in _TERMS:
        if name in result:
            caption += f"; {label}: {meaning}"
    caption += _how_far_off(result)
    title = Text(printable(str(Subject.of(result))), style="bold")
    parts: list[RenderableType] = [title, _layers(result)]
    if equal := equal_to_weight(result):
        caption += f"; effective attention is {equal}"
    parts.append(Text(caption, style="dim"))
    found = highlights(result)
    if found:
        parts += [Text(), Text("What stands out", style="bold")]
        parts += [bullet(each.text) for each in found]
        parts.append(Text(NUMBERING, style="dim"))
    return Group(*parts)


def _how_far_off(result: xr.Dataset) -> str:
    """The widest intervals of the means in the table; nothing where there are none."""
    first, *_ = [row.name for row in surveyed(result)] or [""]
    shares = [shares_of(result, first, name) for name in CATEGORIES] if first in TOTALS else []
    entropy = estimates(result, "entropy", measure=first, query_category="all")
    widest = [
        max((float(np.nanmax(each.high - each.low, initial=0)) / 2 for each in of), default=0.0)
        for of in ([each.mean(axis=1) for each in shares], [entropy.mean(axis=1)])
    ]
    if not any(widest):
        return ""
    points, nats = 100 * widest[0], widest[1]
    return f"; 95% intervals: {first} ± {points:.1f} points at most, entropy ± {nats:.2f}"


def _layers(result: xr.Dataset) -> RenderableType:
    columns = {
        name: cells for name, cells in _columns(result) if any(cell != MISSING for cell in cells)
    }
    layers = result["layer"].values
    frame = pd.DataFrame({"layer": layers, **columns})
    return terminal(Table("layers", "", frame), len(layers))


def _columns(result: xr.Dataset) -> list[tuple[str, list[str]]]:
    """Header and cells, one cell per layer."""
    columns = []
    shown = [row.name for row in surveyed(result)[:_SIDE_BY_SIDE]]
    first = shown[0] if shown else ""
    for name in CATEGORIES:
        label = category_label(result, name).replace(" tokens", "").replace("uation", ".")
        shares = [average(share(result, measure, name), axis=1) for measure in shown]
        columns.append((label, [_together(cells) for cells in zip(*shares, strict=True)]))
    for label, offset in (("prev.", NEIGHBOURS["previous"]), ("next", NEIGHBOURS["next"])):
        neighbour = observed(result, "neighbour", measure=first, offset=offset)
        columns.append((label, [whole_percent(float(v)) for v in average(neighbour, axis=1)]))
    entropy = observed(result, "entropy", measure=first, query_category="all")
    columns.append(("entropy", [two_decimals(float(v)) for v in average(entropy, axis=1)]))
    cv = observed(result, "vector_norm_cv")
    columns.append(("CV‖f‖", [two_decimals(float(v)) for v in average(cv, axis=1)]))
    correlation = observed(result, "effective_correlation_by_head")
    columns.append(("A⊥~α", [two_decimals(float(v)) for v in average(correlation, axis=1)]))
    for row in surveyed(result, per_head=False):
        own = observed(result, "neighbour", measure=row.name, offset=NEIGHBOURS["current"])
        columns.append((f"own {row.symbol}", [whole_percent(float(v)) for v in average(own, 1)]))
    return columns


def _together(shares: Sequence[float]) -> str:
    """The shares of one category in one cell."""
    cells = [whole_percent(float(value)) for value in shares]
    return MISSING if set(cells) == {MISSING} else "/".join(cells)


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
        {"quantity": each.quantity} | dict(zip(names, each.texts, strict=True))
        for each in comparisons
    ]
    frame = pd.DataFrame(rows)
    if any(each.note for each in comparisons):
        frame["note"] = [each.note for each in comparisons]
    return Table("comparisons", "", frame)
