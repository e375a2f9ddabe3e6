"""Survey on a terminal: the most striking findings, and the heads that these are about."""

from collections.abc import Collection, Sequence

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from headlight.catalogue import statistic_table
from headlight.files import printable
from headlight.findings import Highlight, equal_to_weight, highlights, name_of, surveyed
from headlight.findings.candidates import NOT_UNDERSTOOD, is_understood
from headlight.findings.phrases import plural
from headlight.findings.statistics import measures_of, numbers_of, row_target
from headlight.findings.survey import HEAD_ANSWERS as SAID, NOTHING
from headlight.result.kinds import MULTI_KIND
from headlight.views.number_formats import percent_text, plus_minus
from headlight.views.parts.section import Table
from headlight.views.sentences import short_sentence
from headlight.views.terminal import bullet, terminal
from headlight.views.titles import Subject
from headlight.vocabulary import NUMBERING

_HEADS = 6
"""Heads in a table, which with what is said above it fills no more than a screen."""


def terminal_table(result: xr.Dataset, said: Collection[str] = ()) -> RenderableType:
    """Return a survey in short: its most striking findings, and the heads that these are about.

    Args:
        result: Survey of one kind of attention.
        said: Sentences that stand above, and are not said again.
    """
    findings = highlights(result)
    parts: list[RenderableType] = []
    if MULTI_KIND in result.attrs:
        parts += [Text(printable(str(Subject.from_result(result))), style="bold"), Text()]
    sentences = [short_sentence(finding.text) for finding in findings[:SAID]]
    sentences = sentences or [NOTHING if is_understood(result) else NOT_UNDERSTOOD]
    parts += [bullet(sentence) for sentence in sentences if sentence not in said]
    frame = _heads(result, findings)
    if len(frame):
        parts += [Text(), terminal(Table("heads", "", frame))]
        parts += [] if NUMBERING in said else [Text(NUMBERING, style="dim")]
    if equal := equal_to_weight(result):
        parts.append(Text(f"Effective attention is {equal}.", style="dim"))
    inconclusive = [finding for finding in findings[SAID:] if finding.kind == "inconclusive"]
    more = [finding.text for finding in inconclusive]
    if left := len(findings[SAID:]) - len(inconclusive):
        more.insert(0, f"{plural(left, 'more finding')} in the report.")
    if more:
        parts.append(Text(" ".join(more), style="dim"))
    return Group(*parts)


def _heads(result: xr.Dataset, findings: Sequence[Highlight]) -> pd.DataFrame:
    """Return the heads that are spoken of for a share of their attention, by each measure."""
    row_of = {row.name: row for row in statistic_table() if row.unit == "share" and row.target}
    layers, rows = result["layer"].values.tolist(), []
    for finding in findings:
        row = row_of.get(finding.question)
        if row is None or finding.layer is None or finding.head is None:
            continue
        at = (layers.index(finding.layer), finding.head)
        cells = {}
        for measure in surveyed(result):
            if measure.name in measures_of(result, row):
                share = numbers_of(result, row, measure.name).at(at)
                half = plus_minus(float(share.high - share.low) / 2, share=True)
                cells[measure.short] = f"{percent_text(float(share.value))}{half}"
        name = name_of(result, finding.layer, finding.head)
        rows.append({"head": name, "attends": f"to {row_target(result, row)}", **cells})
    return pd.DataFrame(rows[:_HEADS])
