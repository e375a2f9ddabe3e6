"""Rankings of heads, and rules by which one is named.

The rules by which something is said of a model: one table for surveys and reproductions.
The papers give no such rules; these are ours.  What a sentence or a verdict claims is true of the
numbers beside it by one of them, so that two places cannot judge the same numbers differently.
"""

from collections.abc import Sequence

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import statistic, statistic_table
from headlight.errors import UnknownNameError, UsageError
from headlight.findings.candidates import MOST as MOST, why_of_tokens
from headlight.findings.estimates import (
    TOTALS,
    Estimate,
    around,
    category_label,
    estimates,
    percent,
    plural,
    share,
    shares_by_key,
)
from headlight.findings.statistics import applies, count_rows, measures_of, numbers_of, rests_on_few
from headlight.result import refusing_incomplete
from headlight.result.estimate import decided as decided

VALUE = "value"
"""The column of numbers that belong to no measure."""


def head_scores() -> tuple[str, ...]:
    """Return the names by which heads can be ranked."""
    rows = statistic_table()
    return *(row.name for row in rows), *(other for row in rows for other in row.also)


@refusing_incomplete()
def heads(
    result: xr.Dataset, behaviour: str, *, by: str | None = None, without_first: bool = False
) -> pandas.DataFrame:
    """Return the heads of a survey, ranked by how much they do one thing.

    Args:
        result: of `headlight.survey`, of one kind of attention.
        behaviour: what heads do: ``sink``, ``duplicate``, ``induction``, ``subword``, ``copy``,
            ``previous``, ``entropy``, ``particular_tokens`` (in nats), ... or another of
            `head_scores`.
        by: the measure whose values rank them; by default the first that the survey has.
        without_first: take the first token out, and of all that does not go to it the share; for
            what has such a share.

    Returns:
        One row per head, the highest first: ``layer`` and ``head``, zero-based; for each measure a
        column of its name with the number, and ``low`` and ``high`` after the name, the ends of its
        interval of 95%, NaN for one text.  Numbers that belong to no measure are in the column
        ``value``.  Heads of which nothing is known are left out.

    Raises:
        UnknownNameError: heads are not ranked by such a thing, or there is no such measure.
        UsageError: the result does not hold it, holds it of too few rows of attention, or holds
            several kinds of attention.
        ResultError: it lacks what results of surveys have.
    """
    if behaviour not in head_scores():
        raise UnknownNameError("behaviour", behaviour, head_scores())
    if "kind" in result.dims:
        raise UsageError("this result holds several kinds of attention; select one of them.")
    row = statistic(behaviour)
    is_applicable = applies(result, row) and (row.rest or not without_first)
    if rests_on_few(result, row) and (counted := count_rows(result, row)) and counted[0]:
        raise UsageError(
            f"in these texts {plural(counted[0], 'row')} of attention can do {behaviour!r}, and "
            f"heads are ranked from {row.min_rows} on; survey more texts."
        )
    columns: dict[str, NDArray[np.float64]] = {}
    names = []
    for measure in measures_of(result, row) if is_applicable else ():
        numbers = numbers_of(result, row, measure, without_first=without_first)
        names.append(measure or VALUE)
        ends = {"": numbers.value, "_low": numbers.low, "_high": numbers.high}
        columns |= {f"{names[-1]}{end}": values for end, values in ends.items()}
    first = by or next(iter(names), "")
    if why := why_of_tokens(result, row):
        raise UsageError(f"heads are not ranked by {behaviour!r} of these texts, in which {why}.")
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


RETRIEVES = 0.1
"""A head that copies more than this share of a needle's tokens retrieves (Wu et al. 2024)."""

FAR_BELOW = 0.5
"""Largest ratio to the share of the weight at which another share is far below it."""

OPEN = 0.5
"""An interval wider than this part of all that there can be says nothing."""

NEARLY_ALL = 0.9
"""Share of the first token above which what a head gives to others is not spoken of."""

BROAD, VERY_BROAD, NARROW = 0.75, 0.9, 0.5
"""Shares of the entropy of uniform attention: a head above the first is broad, above the second
nearly uniform, and below the third narrow."""

NATS_APART = 0.3
"""Two entropies differ if they are so far apart."""

PARTICULAR = 0.3
"""A head is one for particular tokens if what they get is this many nats from their frequency."""

UNREACHED = 0.01
"""Weight that cannot reach the output is spoken of if it is at least so much, on average."""

CORRELATION_APART, FEWEST_TEXTS = 0.05, 3
"""Correlations of short and long texts differ if they are so far apart, each of this many texts."""

VARIES = 0.1
"""Lengths vary if their coefficient of variation is at least so much, on average over heads."""

RELATED = 0.1
"""Ranks are related if |ρ| is at least so much."""

UNCHANGED = 10.0
"""Outputs are the same if they change by at most this many times what rounding changes."""

IDENTIFIED = 0.8
"""Tokens mostly keep their identity if at least this share of them is found."""

FEW_EXAMPLES = 20
"""Fewer examples say little of a corpus, which is said above all findings."""

FEW_MENTIONS, FEWEST_DOCUMENTS = 100, 5
"""Mentions below which the best head is picked by chance as well; documents below which there is no
interval."""

OF_THE_REST = 0.25
"""A classifier is near the most frequent class if it finds less than this share of what that class
alone leaves wrong."""


def is_near_majority(accuracy: float, low: float, majority: float) -> bool:
    """Whether a classifier is hardly better than who always says the most frequent class.

    Args:
        accuracy: its share of correct predictions.
        low: the lower end of the interval of it; NaN where there is none.
        majority: the share of the most frequent class.
    """
    hardly_more = accuracy - majority < OF_THE_REST * (1 - majority)
    return hardly_more or low <= majority or majority == 1


TARGETS = ("cls", "sep", "punctuation", "sink")
"""Targets of attention that is to do nothing."""

Shares = NDArray[np.float64]


def no_op(
    result: xr.Dataset,
    *,
    targets: Sequence[str] = TARGETS,
    weight: float = MOST,
    ratio: float = 1 / FAR_BELOW,
) -> pandas.DataFrame:
    """For every head, how much of its weight goes where little norm follows.

    A head that attends to a token whose transformed vector is short collects next to nothing: by
    its weights alone it would seem busy.

    Args:
        result: a survey, with sinks where ``ranks`` are among its numbers.
        targets: the categories of keys that count as such tokens, where the result has them.
        weight: the share of the weight from which on a head may be called a no-op.
        ratio: how many times the share of the norm that must be.

    Returns:
        One row per head, the largest loss first: ``layer`` and ``head``, zero-based;
        ``weight_share`` and ``norm_share``, the shares of α and of ‖αf(x)‖ that go to the targets,
        between 0 and 1; their ``ratio``; what is ``lost`` between them, weight_share − norm_share,
        between −1 and 1; the ``target`` with most of the weight; whether the head is a ``no_op``.
        Heads that a layer does not have are left out; a head whose norms are all zero has no
        share of the norm (NaN), and is no no-op.

    Source: Kobayashi et al. (2020), Section 4.2, "How is no-op realized?"; the score is ours.
    """
    (categories, weights), (_, norms) = (shares_by_key(result, name) for name in TOTALS)
    chosen = np.array([name in targets for name in categories], dtype=bool)
    names = [name for name in categories if name in targets]
    weight_share = np.nansum(weights[..., chosen], axis=-1)
    norm_share = np.where(
        np.isnan(norms).all(axis=-1), np.nan, np.nansum(norms[..., chosen], axis=-1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = weight_share / norm_share
    layers, heads = np.meshgrid(result["layer"].values, result["head"].values, indexing="ij")
    table = pandas.DataFrame(
        {
            "layer": layers.ravel(),
            "head": heads.ravel(),
            "weight_share": weight_share.ravel(),
            "norm_share": norm_share.ravel(),
            "ratio": ratios.ravel(),
            "lost": (weight_share - norm_share).ravel(),
            "target": _largest(weights[..., chosen], names),
            "no_op": ((weight_share >= weight) & (ratios >= ratio)).ravel(),
        }
    )
    observed = np.isfinite(weights).any(axis=-1).ravel()
    return table[observed].sort_values("lost", ascending=False, kind="stable", ignore_index=True)


def _largest(shares: Shares, names: Sequence[str]) -> list[str]:
    """The name of the largest share of every head; empty without any."""
    if not names:
        return [""] * (shares.shape[0] * shares.shape[1])
    rows = np.nan_to_num(shares.reshape(-1, len(names)), nan=-1.0)
    return [names[place] if rows[i, place] > 0 else "" for i, place in enumerate(rows.argmax(1))]


def mean_shares(result: xr.Dataset, category: str) -> tuple[float, float]:
    """The shares of the weight and of the norm that go to a category, means over all heads.

    Args:
        result: a survey.
        category: of the attended tokens.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    return float(weight.value), float(norm.value)


def weight_and_norm(result: xr.Dataset, category: str) -> str | None:
    """Return the share of a category, and whether its norm is far below its weight.

    Args:
        result: a survey.
        category: of the attended tokens.

    Returns:
        the sentence; None where nothing was observed.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    if not np.isfinite(weight.value + norm.value):
        return None
    weight_text = (
        f"{percent(float(weight.value))} of the weight{around(weight)} goes to "
        f"{category_label(result, category)}"
    )
    little = f"{percent(float(norm.value))} of the norm{around(norm)}"
    beside = norm.minus(weight.times(FAR_BELOW))
    verdict = str(beside.compared(0.0)) if weight.value > 0 else "above"
    if verdict == "below":
        return f"{weight_text}, but {little}, at most half as much."
    if verdict == "inconclusive":
        return f"{weight_text}, and {little}; whether that is at most half as much is inconclusive."
    return f"{weight_text}, and {little}."


def shares_of(result: xr.Dataset, measure: str, category: str) -> Estimate:
    """Return the share of a category by a measure, [layer, head].

    Args:
        result: a survey.
        measure: of heads.
        category: of the attended tokens; ``sink`` where sinks were looked for.
    """
    if "group_total" in result and category not in result["key_category"].values:
        names, shares = shares_by_key(result, measure)
        return Estimate.with_ends(shares[..., names.index(category)])
    by_head = estimates(
        result, "share", measure=measure, query_category="all", key_category=category
    )
    value = share(result, measure, category)
    low, high = (np.where(np.isfinite(value), each, np.nan) for each in (by_head.low, by_head.high))
    return Estimate.with_ends(value, low, high)
