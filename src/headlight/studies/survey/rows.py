"""Rows of attention: shares of categories and of neighbours, and entropies."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.catalogue.statistics import KEY_CLASSES
from headlight.observations.variables import Variable, with_slots
from headlight.reduce.accumulator import Array
from headlight.studies.survey.part import Outcome, Variables
from headlight.studies.survey.query_and_key_tokens import QUERY_CATEGORIES
from headlight.studies.survey.text_means import number
from headlight.vocabulary import CATEGORIES, NEIGHBOURS, measure

OFFSETS = tuple(NEIGHBOURS.values())

GROUP = ("layer", "head", "measure")

OF_ROWS = {
    "total": Variable(
        "sum that keys of a category receive from a query", "", interval="row_positive"
    ),
    "share": Variable("share of a row that goes to keys of a category", interval="row_share"),
    "neighbour": Variable("share of a row that goes to the key at an offset", interval="row_share"),
    "class_share": Variable(
        "share of a row that goes to the first token, or to a category beside it",
        interval="row_share",
    ),
    "entropy": Variable("entropy of a row", "nat", interval="positive"),
    "entropy_uniform": Variable("entropy of uniform attention", "nat", interval="positive"),
    "token_share": Variable("share of the tokens that are of a category", interval="share"),
}


def rows(outcome: Outcome) -> Variables:
    """Return the variables of categories, neighbours and entropies of rows."""
    statistics, measures = outcome.statistics, outcome.measures
    if not measures:
        return {}
    by_query = (*GROUP, "query_category")
    variables = {
        **number("total", (*by_query, "key_category"), statistics, "total"),
        **_shares_of_rows("share", (*by_query, "key_category"), statistics, "total", measures),
        **_shares_of_rows("neighbour", (*GROUP, "offset"), statistics, "neighbour", measures),
        **number("entropy", by_query, statistics, "entropy"),
    }
    if "class" in statistics:
        by_class = (*by_query, "key_class")
        variables |= _shares_of_rows("class_share", by_class, statistics, "class", measures)
    return {
        "measure": list(measures),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(CATEGORIES),
        "offset": list(OFFSETS),
        **({"key_class": list(KEY_CLASSES)} if "class" in statistics else {}),
        **measures_first(variables),
        **number("entropy_uniform", (), statistics, "entropy_uniform"),
        **number("token_share", ("key_category",), statistics, "token_share"),
    }


def attributes(outcome: Outcome) -> dict[str, Any]:
    """Return the layers where attention was written for a difference of the kernel, and its size.

    There the kernel's output for the first batch differed from that of the model's own function.
    """
    largest = outcome.statistics.get("kernel_difference", {}).get("maximum")
    if largest is None or not np.isfinite(largest).any():
        return {}
    differences = {
        int(layer): float(f"{difference:.2g}")
        for layer, difference in zip(outcome.plan.layers, largest.tolist(), strict=True)
        if np.isfinite(difference)
    }
    return {"written_attention": json.dumps(differences)}


def measures_first(variables: Mapping[str, Any]) -> Variables:
    """Move the measure, and the behaviour where there is one, to the first axes of variables."""
    return {
        name: variable.transpose("measure", "behaviour", ..., missing_dims="ignore")
        for name, variable in variables.items()
    }


_SIZES = {"total": "share", "neighbour": "neighbour", "class": "class"}
"""Prefixes of the members that hold each member's ratios to whole rows."""


def _shares_of_rows(
    name: str, dims: tuple[str, ...], sums: dict[str, Any], member: str, measures: Sequence[str]
) -> Variables:
    """Return shares of rows; for measures that are no shares, ratios to the whole row."""
    value, slots = sums[member]["mean"].copy(), dict(sums[f"slots_{member}"])
    sizes = [
        at for at, name_of_measure in enumerate(measures) if not measure(name_of_measure).share
    ]
    if sizes:
        along = dims.index("measure")
        value[(slice(None),) * along + (sizes,)] = sums[f"{_SIZES[member]}_of_sizes"]["ratio"]
        for part, at in (("mean", along), ("without", along + 1)):
            whole = sums["slots_total"][part]
            if name == "neighbour":  # of all queries
                whole = whole[..., 0, :]
            inner = (slice(None),) * at + (sizes,)
            slots[part] = slots[part].copy()
            slots[part][inner] /= nonzero_sums(whole)[inner]
    return dict(with_slots(name, dims, value, slots))


def nonzero_sums(parts: Array) -> Array:
    """Return the sums of parts along the last axis; NaN where they are 0."""
    whole = np.nansum(parts, -1, keepdims=True)
    return np.where(whole > 0, whole, np.nan)
