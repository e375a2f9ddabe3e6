"""Surveys, and the numbers of papers beside ours, for the terminal, fit for eighty columns."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.catalogue import Statistic, statistic
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.files import printable
from headlight.findings import equal_to_weight, highlights, surveyed
from headlight.findings.estimates import Estimate
from headlight.findings.statistics import numbers_of, row_label, statistics_of
from headlight.views.numbers import MISSING, two_decimals, whole_percent
from headlight.views.parts import Comparison, Section, Table
from headlight.views.terminal_tables import bullet, terminal
from headlight.views.words import Subject
from headlight.vocabulary import NUMBERING

_TERMS = {
    "vector_norm_cv": "how much the lengths of vectors vary",
    "effective_correlation": "r of effective attention and weight",
}
"""Columns that need a word."""
_ROWS = (*KEY_CLASSES, "previous", "next", "entropy", *_TERMS)
"""Statistics that have room in eighty columns, means over heads."""
_EMPTY = f"{MISSING}/"
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
    for name, meaning in _TERMS.items():
        if np.isfinite(numbers_of(result, statistic(name)).value).any():
            caption += f"; {statistic(name).short}: {meaning}"
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
    by_name = {row.name: by for row, by in _statistics(result)}
    shares = [by_name[name][first] for name in KEY_CLASSES if first in by_name.get(name, {})]
    entropy = [by_name["entropy"][first]] if first in by_name.get("entropy", {}) else []
    widest = [
        max((float(np.nanmax(mean.high - mean.low, initial=0)) / 2 for mean in means), default=0.0)
        for means in ([each.mean(axis=1) for each in of] for of in (shares, entropy))
    ]
    if not any(widest):
        return ""
    points, nats = 100 * widest[0], widest[1]
    return f"; 95% intervals: {first} ± {points:.1f} points at most, entropy ± {nats:.2f}"


def _layers(result: xr.Dataset) -> RenderableType:
    columns = {
        name: cells
        for name, cells in _columns(result)
        if any(set(cell) - set(_EMPTY) for cell in cells)
    }
    layers = result["layer"].values
    frame = pd.DataFrame({"layer": layers, **columns})
    return terminal(Table("layers", "", frame), len(layers))


def _statistics(result: xr.Dataset) -> list[tuple[Statistic, dict[str, Estimate]]]:
    return [each for each in statistics_of(result) if each[0].name in _ROWS]


def _columns(result: xr.Dataset) -> list[tuple[str, list[str]]]:
    """Header and cells, one cell per layer."""
    columns = []
    shown = [row.name for row in surveyed(result)[:_SIDE_BY_SIDE]]
    for row, by in sorted(_statistics(result), key=lambda each: _ROWS.index(each[0].name)):
        # Only shares of kinds of key have room for two measures.
        measures = shown if row.name in KEY_CLASSES else [shown[0] if row.per_measure else ""]
        means = [by[name].mean(axis=1).value for name in measures if name in by]
        written = whole_percent if row.unit == "share" else two_decimals
        cells = [
            "/".join(written(float(each)) for each in cell) for cell in zip(*means, strict=True)
        ]
        columns.append((row_label(result, row, short=True), cells))
    for measure in surveyed(result, per_head=False):
        own = numbers_of(result, statistic("current"), measure.name).mean(axis=1).value
        columns.append((f"own {measure.symbol}", [whole_percent(float(each)) for each in own]))
    return columns


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
