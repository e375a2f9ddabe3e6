"""Dataset of contributions, and of the agreement of estimated with exact ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from headlight.observations.variables import described, with_slots
from headlight.reduce import Tally
from headlight.result import Description
from headlight_papers.studies.attribution.box_statistics import MARKS, boxes
from headlight_papers.studies.attribution.contribution_sums import DISTANCES
from headlight_papers.studies.attribution.observer import EDGES, GROUPS

Statistics = Mapping[str, np.ndarray]

OWN = "what tokens contribute to themselves"
OTHERS = {
    "neighbour": "what tokens at an offset contribute",
    "cls": "what tokens at an offset contribute to the class token",
    "sep": "what tokens at an offset from the separator contribute to the class token",
}
VARIABLES: dict[str, Description] = {
    "own_mean": (f"{OWN}, mean", "1", "share"),
    "own_std": (f"{OWN}, standard deviation", "1"),
    "own_count": ("tokens", "1"),
    "own_box": (f"{OWN}, marks of a box plot", "1"),
    "own_histogram": ("tokens by what they contribute to themselves", "1"),
    "own_estimate_error": (f"{OWN}, standard error of one estimate", "1"),
    "not_largest": ("share of tokens of which another contributes most", "1", "share"),
    "by_distance": ("what tokens at a distance contribute", "1", "share"),
    "by_distance_share": ("share of a layer in what a distance contributes", "1"),
    "by_distance_count": ("tokens", "1"),
    **{
        f"{name}_{suffix}": (words + more, "1")
        for name, words in OTHERS.items()
        for suffix, more in (
            ("total", ", sum over tokens"),
            ("share", ", share of all within reach"),
            ("count", ", pairs of tokens"),
        )
    },
    **{f"{name}_mean": (f"{words}, mean", "1", "share") for name, words in OTHERS.items()},
    "exact_difference": ("|estimate − exact|, mean over pairs", "1"),
    "exact_relative": ("|estimate − exact| / exact, mean over pairs", "1"),
    "exact_inside": ("share of pairs that two standard errors reach", "1"),
    "exact_correlation": ("Pearson's r of estimate and exact", "1"),
    "exact_own_mean": (f"{OWN}, exact", "1"),
    "exact_own_box": (f"{OWN}, exact, marks of a box plot", "1"),
    "exact_not_largest": ("share of tokens of which another contributes most, exact", "1"),
    "estimated_own_mean": (f"{OWN}, estimated for the same texts", "1"),
    "estimated_own_box": (f"{OWN}, estimated for the same texts, marks of a box plot", "1"),
    "estimated_not_largest": ("share of tokens of which another contributes most, estimated", "1"),
}
"""Long name and unit of every variable; contributions to a token sum to 1."""


def dataset(
    tally: Tally, layers: Sequence[int], tags: Sequence[str], reach: int, agreed: Mapping[str, Any]
) -> xarray.Dataset:
    """Return the results of a run as named arrays.

    Args:
        tally: Merged tally of the observers.
        layers: Numbers of the layers.
        tags: Names of all parts of speech.
        reach: Largest relative position.
        agreed: Variables on the agreement of estimated with exact contributions.
    """
    sums = tally.compute()
    groups = [*GROUPS, *tags]
    to_itself = _arrange_groups(sums["own"], len(groups))
    spread = _arrange_groups(sums["own_spread"], len(groups))
    by_group = ("group", "layer")
    variables: dict[str, Any] = {
        **with_slots("own_mean", by_group, to_itself["mean"], sums["own_of_texts"]),
        "own_std": (by_group, to_itself["std"]),
        # A group has the same tokens in every layer.
        "own_count": ("group", np.nan_to_num(to_itself["count"].max(axis=1))),
        "own_box": ((*by_group, "mark"), boxes(np.nan_to_num(spread["counts"]), np.array(EDGES))),
        "own_histogram": (("layer", "bin"), spread["counts"][0]),
        **with_slots(
            "not_largest", ("layer",), sums["not_largest"]["mean"], sums["not_largest_of_texts"]
        ),
        **_distance_variables(sums),
        **_offset_variables("neighbour", sums, "offset", reach, without_own=True),
        **_offset_variables("cls", sums, "cls", reach),
        **_offset_variables("sep", sums, "sep", reach),
        **agreed,
    }
    if "own_error" in sums:
        # Variances are averaged, rather than standard errors, whose mean is smaller.
        variables["own_estimate_error"] = ("layer", np.sqrt(sums["own_error"]["mean"]))
    coordinates = {
        "layer": list(layers),
        "group": groups,
        "mark": list(MARKS),
        "distance": list(DISTANCES),
        "offset": list(range(-reach, reach + 1)),
        "bin": np.array(EDGES[:-1]),
    }
    return described(variables, coordinates, VARIABLES)


def _arrange_groups(statistics: Statistics, groups: int) -> dict[str, np.ndarray]:
    """Return statistics of all groups in their order; NaN for those that do not occur."""
    filled = {}
    for name, values in statistics.items():
        if name != "key":
            filled[name] = np.full((groups, *values.shape[1:]), np.nan)
            filled[name][statistics["key"]] = values
    return filled


def _distance_variables(statistics: Mapping[str, Statistics]) -> dict[str, Any]:
    """Return means by distance, and the spread of each group over the layers (Figure 4a)."""
    dims = ("layer", "distance")
    mean = statistics["distance"]["mean"]
    whole = mean.sum(axis=0, keepdims=True)
    return {
        **with_slots("by_distance", dims, mean, statistics["distance_of_texts"]),
        # A distance that no text has leaves its column empty.
        "by_distance_share": (dims, mean / np.where(whole > 0, whole, np.nan)),
        "by_distance_count": ("distance", statistics["distance"]["count"].max(axis=0)),
    }


def _offset_variables(
    name: str,
    statistics: Mapping[str, Statistics],
    pair_counts: str,
    reach: int,
    *,
    without_own: bool = False,
) -> dict[str, Any]:
    """Return totals by relative position, their share of all within reach, and numbers of pairs."""
    dims = ("layer", "offset")
    count, mean = statistics[pair_counts]["count"], statistics[pair_counts]["mean"]
    total = np.where(count > 0, np.nan_to_num(mean) * count, np.nan)
    counted = total.copy()
    # The token itself stands at offset 0, and would dwarf its neighbours.
    if without_own:
        counted[:, reach] = np.nan
    whole = np.nansum(counted, axis=1, keepdims=True)
    return {
        f"{name}_total": (dims, total),
        f"{name}_share": (dims, counted / np.where(whole > 0, whole, np.nan)),
        **with_slots(f"{name}_mean", dims, mean, statistics[f"{pair_counts}_of_texts"]),
        f"{name}_count": ("offset", count.max(axis=0)),
    }


def agreement(sums: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Return arrays over layers: errors of the estimate, and results computed from it.

    ``exact_difference`` and ``exact_relative`` are means over pairs of tokens of |estimate − exact|
    and of its share of the exact contribution; ``exact_inside`` is the share of pairs that two
    standard errors reach.
    """
    means = {
        "exact_difference": "difference",
        "exact_relative": "relative",
        "exact_inside": "inside",
        "exact_own_mean": "exact_own",
        "exact_not_largest": "exact_not_largest",
        "estimated_own_mean": "estimated_own",
        "estimated_not_largest": "estimated_not_largest",
    }
    named: dict[str, Any] = {
        name: ("layer", sums[field]["mean"]) for name, field in means.items() if field in sums
    }
    named["exact_correlation"] = ("layer", sums["correlation"]["correlation"])
    for name in ("exact", "estimated"):
        spread = boxes(sums[f"{name}_spread"]["counts"], np.array(EDGES))
        named[f"{name}_own_box"] = (("layer", "mark"), spread)
    return named
