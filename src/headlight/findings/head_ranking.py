"""The heads of a survey, ranked by what they do."""

from collections.abc import Iterator

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UnknownNameError, UsageError
from headlight.findings.observed import observed, occurs, surveyed
from headlight.vocabulary import BEHAVIOURS, CATEGORIES, NEIGHBOURS

ALSO = {"sink": "first", "transformerlens_previous": "previous"}
"""Other names of the same."""

OF_HEADS = ("no_op", "value_drain")
"""What a survey says of a head whatever the measure."""

TOKENS = "particular_tokens"
"""How far what tokens get is from their frequency, in nats."""

NORMAL = 1.96
"""Standard errors from the mean to either end of an interval of 95%."""


def head_scores() -> tuple[str, ...]:
    """The names by which heads can be ranked."""
    return (
        *BEHAVIOURS,
        *NEIGHBOURS,
        *(c for c in CATEGORIES if c != "other"),
        *ALSO,
        *OF_HEADS,
        TOKENS,
    )


def heads(
    result: xr.Dataset, behaviour: str, *, by: str | None = None, without_first: bool = False
) -> pandas.DataFrame:
    """The heads of a survey, ranked by how much they do one thing.

    Args:
        result: of `headlight.survey`, of one kind of attention.
        behaviour: what heads do: ``sink``, ``duplicate``, ``induction``, ``subword``, ``copy``,
            ``previous``, ``particular_tokens`` (in nats), ... or another of `head_scores`.
        by: the measure whose values rank them; by default the first that the survey has.
        without_first: take the first token out, and of all that does not go to it the share; for
            what has such a share.

    Returns:
        One row per head, the highest first: ``layer`` and ``head``, zero-based; for each measure a
        column of its name with the mean over texts, and ``low`` and ``high`` after the name, the
        ends of its interval of 95%, NaN for one text.  Numbers that belong to no measure are in the
        column ``value``.  Heads of which nothing is known are left out.

    Raises:
        UnknownNameError: heads are not ranked by such a thing, or there is no such measure.
        UsageError: the result does not hold it, or holds several kinds of attention.
    """
    if behaviour not in head_scores():
        raise UnknownNameError("behaviour", behaviour, head_scores())
    if "kind" in result.dims:
        raise UsageError("this result holds several kinds of attention; select one of them.")
    columns: dict[str, NDArray[np.float64]] = {}
    for name, (value, error) in _values(result, ALSO.get(behaviour, behaviour), without_first):
        columns |= {name: value, f"{name}_low": value - NORMAL * error}
        columns[f"{name}_high"] = value + NORMAL * error
    names = [name for name in columns if f"{name}_low" in columns]
    first = by or next(iter(names), "")
    if not names or all(np.isnan(columns[name]).all() for name in names):
        rest = " without the first token" if without_first else ""
        raise UsageError(f"this result does not say how much heads do {behaviour!r}{rest}.")
    if first not in names:
        raise UnknownNameError("measure", first, names)
    layers, numbers = np.meshgrid(result["layer"].values, result["head"].values, indexing="ij")
    columns = {"layer": layers, "head": numbers, **columns}
    table = pandas.DataFrame({name: values.ravel() for name, values in columns.items()})
    known = table[names].notna().any(axis=1)
    return table[known].sort_values(first, ascending=False, kind="stable", ignore_index=True)


def _values(
    result: xr.Dataset, name: str, without_first: bool
) -> Iterator[tuple[str, tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """The mean and its standard error by measure, [layer, head]."""
    if name in OF_HEADS:
        if name in result and not without_first:
            yield "value", (observed(result, name), observed(result, f"{name}_error"))
        return
    if name == TOKENS:
        yield from () if without_first else _of_tokens(result)
        return
    end, error = ("rest", "rest_error") if without_first else ("share", "error")
    where: dict[str, str | int]
    if name in BEHAVIOURS:
        variables, where = (f"behaviour_{end}", f"behaviour_{error}"), {"behaviour": name}
    elif name in NEIGHBOURS:
        variables = f"relative_{end}", f"relative_{error}"
        where = {"relative": NEIGHBOURS[name]}
    elif without_first or not occurs(result, name):
        return
    else:
        variables, where = ("share", "share_error"), {"key_category": name}
        result = result.sel(query_category="all")
    by_head = ("layer", "head")
    for row in surveyed(result):
        labels = {"measure": row.name, **where}
        mean, deviation = (observed(result, each, by_head, **labels) for each in variables)
        yield row.name, (mean, deviation)


def _of_tokens(
    result: xr.Dataset,
) -> Iterator[tuple[str, tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """How particular heads are about tokens, which has no standard error."""
    if "token_divergence" in result:
        for row in surveyed(result):
            value = observed(result, "token_divergence", side="key", measure=row.name)
            yield row.name, (value, np.full_like(value, np.nan))
