"""The heads of a survey, ranked by what they do."""

from collections.abc import Iterator

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.errors import UnknownNameError, UsageError
from headlight.findings.observed import observed, occurs, surveyed
from headlight.result import refusing_incomplete
from headlight.vocabulary import BEHAVIOURS, CATEGORIES, NEIGHBOURS

ALSO = {"sink": "first", "transformerlens_previous": "previous"}
"""Other names of the same."""

OF_HEADS = ("no_op", "value_drain")
"""What a survey says of a head whatever the measure."""

BY_HEAD = ("layer", "head")

TOKENS = "particular_tokens"
"""How far what tokens get is from their frequency, in nats."""


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


@refusing_incomplete()
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
        ResultError: it lacks what results of surveys have.
    """
    if behaviour not in head_scores():
        raise UnknownNameError("behaviour", behaviour, head_scores())
    if "kind" in result.dims:
        raise UsageError("this result holds several kinds of attention; select one of them.")
    columns: dict[str, NDArray[np.float64]] = {}
    for name, variable, where in variables_of(result, behaviour, without_first=without_first):
        for end in ("", "_low", "_high"):
            columns[f"{name}{end}"] = observed(result, f"{variable}{end}", BY_HEAD, **where)
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


def variables_of(
    result: xr.Dataset, behaviour: str, *, without_first: bool = False
) -> Iterator[tuple[str, str, dict[str, str | int]]]:
    """Where a survey says how much heads do one thing.

    Args:
        result: of a survey, of one kind of attention.
        behaviour: one of `head_scores`.
        without_first: of all that does not go to the first token.

    Returns:
        for each measure, its name, the variable, and where in it; ``value`` for a number that
        belongs to no measure.
    """
    name = ALSO.get(behaviour, behaviour)
    if name in OF_HEADS:
        if name in result and not without_first:
            yield "value", name, {}
        return
    end = "rest" if without_first else "share"
    where: dict[str, str | int]
    if name == TOKENS:
        variable, where = "" if without_first else "token_divergence", {"side": "key"}
    elif name in BEHAVIOURS:
        variable, where = f"behaviour_{end}", {"behaviour": name}
    elif name in NEIGHBOURS:
        variable, where = f"relative_{end}", {"relative": NEIGHBOURS[name]}
    else:
        variable = "" if without_first or not occurs(result, name) else "share"
        where = {"key_category": name, "query_category": "all"}
    if variable in result:
        for row in surveyed(result):
            yield row.name, variable, {"measure": row.name, **where}
