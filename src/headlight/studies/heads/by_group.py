"""What each group of texts moves the numbers of heads by, for differences between surveys.

Texts are in the same groups in every survey (`headlight.analysis.batch_texts.groups_of`).  What a
group moves two surveys of the same texts by is therefore much alike, and cancels in the difference.
It is kept of what heads are ranked by (`headlight.findings.heads`); and of numbers that are neither
means nor ratios of means it gives the intervals.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int64

from headlight.analysis.variables import (
    Replicates,
    of_lengths,
    part,
    standard_deviations,
)
from headlight.reduce import Accumulator, GroupMeans
from headlight.reduce.base import Array
from headlight.reduce.intervals import deviations, student
from headlight.vocabulary import measure

POWERS = ("vector_norm_powers", "input_norm_powers")
"""What an observer knows of lengths: how many, their sum, that of their squares."""

BY_MEASURE, BY_HEAD = ("layer", "head", "measure"), ("layer", "head")

DIMS = {
    "share": (*BY_MEASURE, "key_category"),
    "class_share": (*BY_MEASURE, "key_class"),
    "entropy": BY_MEASURE,
    "behaviour_share": (*BY_MEASURE, "behaviour"),
    "neighbour": (*BY_MEASURE, "offset"),
    "distance_mean": BY_MEASURE,
    "sink_rate": BY_MEASURE,
    "no_op": BY_HEAD,
    "value_drain": BY_HEAD,
    "effective_correlation_by_head": BY_HEAD,
    "vector_norm_mean": BY_HEAD,
    "vector_norm_cv": BY_HEAD,
}
"""Numbers of which a result keeps what each group moves them by, of all queries."""

OTHERS = {
    **dict.fromkeys(("distance_std", "distance_std_rest"), BY_MEASURE),
    "vector_norm_std": BY_HEAD,
    **{f"input_norm_{end}": ("layer",) for end in ("mean", "std", "cv")},
}
"""Others of which groups give the intervals."""

VARIABLES = {
    "group_texts": ("texts of a group that is left out", "1"),
    **{
        f"{name}_{end}": (said.format(name), "")
        for name in DIMS
        for end, said in (
            ("by_group", "what a group of texts moves {} by; squares add up to the error's"),
            ("freedom", "degrees of freedom of the error of {}"),
        )
    },
}


def members(
    groups: Int64[np.ndarray, " text"], seen: Mapping[str, Array], powers: Mapping[str, Array]
) -> dict[str, Accumulator]:
    """What an observer keeps of one batch, by name.

    Args:
        groups: of the texts.
        seen: its rows: ``total``, ``neighbour``, ``entropy``, ``class`` and
            ``correlation_by_head`` are looked at.
        powers: those of `POWERS` that it has; along the last axis.
    """
    found: dict[str, Accumulator] = {
        "by_group_texts": GroupMeans.of(groups, np.ones(len(groups))),
        "by_group_total": GroupMeans.of(groups, seen["total"][..., 0, :]),
        "by_group_neighbour": GroupMeans.of(groups, seen["neighbour"]),
        "by_group_entropy": GroupMeans.of(groups, seen["entropy"][..., 0]),
    }
    if "class" in seen:
        found["by_group_class"] = GroupMeans.of(groups, seen["class"][..., 0, :])
    if "correlation_by_head" in seen:
        found["by_group_correlation"] = GroupMeans.of(groups, seen["correlation_by_head"])
    for name, rows in powers.items():
        counts, sums = rows[..., :1], rows[..., 1:]
        found[f"by_group_{name}"] = GroupMeans.of(groups, sums, np.broadcast_to(counts, sums.shape))
    return found


def of_groups(
    found: Mapping[str, Mapping[str, Array]], measures: Sequence[str]
) -> tuple[dict[str, Any], dict[str, tuple[tuple[str, ...], Array, Array]]]:
    """Variables of a result; and names, axes and ends of the intervals that groups give."""
    if "by_group_total" not in found:
        return {}, {}
    variables: dict[str, Any] = {"group_texts": ("group", found["by_group_texts"]["whole"])}
    intervals = {}
    for name, (value, without, whole) in _replicates(found, measures).items():
        moved, freedom = deviations(value, without, whole)
        if name in DIMS:
            variables[f"{name}_by_group"] = ("group", *DIMS[name]), moved.astype(np.float32)
            variables[f"{name}_freedom"] = DIMS[name], freedom.astype(np.float32)
        error = np.sqrt((moved**2).sum(0))
        intervals[name] = ((DIMS | OTHERS)[name], *student(value, error, freedom))
    return variables, intervals


def _replicates(
    found: Mapping[str, Mapping[str, Array]], measures: Sequence[str]
) -> dict[str, Replicates]:
    """Of each number that there is."""

    def kept(name: str) -> Replicates:
        of = found[f"by_group_{name}"]
        return of["mean"], of["without"], of["whole"]

    there = {"entropy": kept("entropy"), **_of_rows(kept, found, measures)}
    for name, of in (
        ("sink_rate", "sink"),
        ("no_op", "no_op"),
        ("value_drain", "drain"),
        ("effective_correlation_by_head", "correlation"),
    ):
        if f"by_group_{of}" in found:
            there[name] = kept(of)
    if "by_group_behaviour" in found:
        there["behaviour_share"] = kept("behaviour")
        there["distance_mean"] = part(kept("distance"), 0)
        for end, at in (("", 0), ("_rest", 2)):
            mean, squares = (part(kept("distance"), at + power) for power in (0, 1))
            there[f"distance_std{end}"] = standard_deviations(mean, squares)
    for name in ("vector_norm", "input_norm"):
        if f"by_group_{name}_powers" in found:
            there |= of_lengths(name, kept(f"{name}_powers"))
    return there


def _of_rows(
    kept: Callable[[str], Replicates], found: Mapping[str, Any], measures: Sequence[str]
) -> dict[str, Replicates]:
    """Shares of rows; of measures that are none, of what rows give in all."""
    sizes = np.array([not measure(name).share for name in measures])[:, None]
    totals = kept("total")[:2]
    there: dict[str, Replicates] = {}
    for name, of in (("share", "total"), ("neighbour", "neighbour"), ("class_share", "class")):
        if f"by_group_{of}" in found:
            *numbers, texts = kept(of)
            pairs = zip(numbers, totals, strict=True)
            one, others = (np.where(sizes, each / _whole(total), each) for each, total in pairs)
            there[name] = one, others, texts
    return there


def _whole(total: Array) -> Array:
    whole = np.nansum(total, -1, keepdims=True)
    return np.where(whole > 0, whole, np.nan)
