"""Rankings of the heads of a survey."""

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic, statistic_table
from headlight.errors import UnknownNameError, UsageError
from headlight.findings.candidates import why_of_tokens
from headlight.findings.phrases import plural
from headlight.findings.statistics import (
    applies,
    count_rows,
    measures_of,
    numbers_of,
    rests_on_few,
    row_label,
)
from headlight.result import refusing_incomplete

VALUE = "value"
"""Name of the column of numbers that belong to no measure."""


def head_scores() -> tuple[str, ...]:
    """Return the names by which heads can be ranked."""
    rows = statistic_table()
    return *(row.name for row in rows), *(other for row in rows for other in row.also)


def ranked_by(result: xr.Dataset) -> list[Statistic]:
    """Return the rows by which the heads of a survey can be ranked: those that it holds.

    Args:
        result: Survey of one kind of attention.
    """
    return [
        row
        for row in statistic_table()
        if applies(result, row)
        and not rests_on_few(result, row)
        and not why_of_tokens(result, row)
        and any(
            np.isfinite(numbers_of(result, row, measure).value).any()
            for measure in measures_of(result, row)
        )
    ]


def _known(result: xr.Dataset) -> list[str]:
    return [name for row in ranked_by(result) for name in (row.name, *row.also)]


def _behaviours(result: xr.Dataset) -> pandas.DataFrame:
    rows = ((row.name, ", ".join(row.also), row_label(result, row)) for row in ranked_by(result))
    return pandas.DataFrame(rows, columns=["behaviour", "also", "meaning"])


def _ranking_row(result: xr.Dataset, behaviour: str) -> Statistic:
    """Return the row of a behaviour, after refusing one that cannot rank heads in these texts."""
    if behaviour not in head_scores():
        raise UnknownNameError("behaviour", behaviour, _known(result))
    row = statistic(behaviour)
    if rests_on_few(result, row) and (counted := count_rows(result, row)) and counted[0]:
        raise UsageError(
            f"in these texts {plural(counted[0], 'row')} of attention can do {behaviour!r}, and "
            f"heads are ranked from {row.min_rows} on; survey more texts."
        )
    if why := why_of_tokens(result, row):
        raise UsageError(f"heads are not ranked by {behaviour!r} of these texts, in which {why}.")
    return row


@refusing_incomplete()
def heads(
    result: xr.Dataset,
    behaviour: str | None = None,
    *,
    by: str | None = None,
    without_first: bool = False,
) -> pandas.DataFrame:
    """Return the heads of a survey, ranked by a behaviour; without one, what can rank them.

    Args:
        result: Result of `headlight.survey`, of one kind of attention.
        behaviour: Behaviour of heads: ``sink``, ``duplicate``, ``induction``, ``subword``,
            ``copy``, ``previous``, ``entropy``, ``particular_tokens`` (in nats), ... or another of
            `head_scores`.
        by: Measure whose values rank the heads; by default the first that the survey has.
        without_first: Whether the first token is left out, so that shares are those of all that
            does not go to it; for behaviours that have such a share.

    Returns:
        One row per head, the highest first: ``layer`` and ``head``, zero-based; for each measure a
        column of its name with the number, and ``low`` and ``high`` after the name, the ends of its
        interval of 95%, NaN for one text.  Numbers that belong to no measure are in the column
        ``value``.  Heads of which nothing is known are left out.  Without a behaviour, one row per
        behaviour that this result can rank heads by: ``behaviour``, ``also`` (its other names) and
        ``meaning``.

    Raises:
        UnknownNameError: There is no such behaviour, or no such measure.
        UsageError: The result does not hold the behaviour, holds it for too few rows of attention,
            or holds several kinds of attention.
        ResultError: The result lacks what results of surveys have.
    """
    if "kind" in result.dims:
        raise UsageError("this result holds several kinds of attention; select one of them.")
    if behaviour is None:
        return _behaviours(result)
    row = _ranking_row(result, behaviour)
    is_applicable = applies(result, row) and (row.rest or not without_first)
    columns: dict[str, NDArray[np.float64]] = {}
    names = []
    for measure in measures_of(result, row) if is_applicable else ():
        numbers = numbers_of(result, row, measure, without_first=without_first)
        names.append(measure or VALUE)
        ends = {"": numbers.value, "_low": numbers.low, "_high": numbers.high}
        columns |= {f"{names[-1]}{end}": values for end, values in ends.items()}
    first = by or next(iter(names), "")
    if all(np.isnan(columns[name]).all() for name in names):
        rest = " without the first token" if without_first else ""
        raise UsageError(f"this result does not say how much heads do {behaviour!r}{rest}.")
    if first not in names:
        raise UnknownNameError("measure", first, names)
    layers, numbers_of_heads = np.meshgrid(
        result["layer"].values, result["head"].values, indexing="ij"
    )
    columns = {"layer": layers, "head": numbers_of_heads, **columns}
    table = pandas.DataFrame({name: values.ravel() for name, values in columns.items()})
    table = table[table[names].notna().any(axis=1)]
    return table.sort_values(first, ascending=False, kind="stable", ignore_index=True)
