"""The result of an evaluation of word alignments."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Bool

from headlight.analysis.variables import Variable, described, long_names
from headlight.capture import AttentionSite
from headlight.links import COUNTS, RATES, link_rate_intervals, link_rates
from headlight.reduce import Tally
from headlight.word_alignment.settings import STEPS

VARIABLES = long_names(
    {
        "precision": Variable("share of the links that are possible", interval=True),
        "recall": Variable("share of the sure links that are found", interval=True),
        "error_rate": Variable("alignment error rate", interval=True),
        "links": Variable("links that are found"),
    },
    by={
        "": ", of all heads of a layer together",
        "head_": ", of a head",
        "input_": ", of gradients and differences",
        "similarity_": ", of similar hidden states",
    },
) | {
    "mean_norm": ("mean ‖Σ_h αf(x)‖ over the places of target and source", "hidden"),
    "head_mean_norm": ("mean ‖αf(x)‖ over the places of target and source", "hidden"),
}
"""Long name and unit of every variable."""

_CELL = ("measure", "step", "layer")


def attention_dataset(
    tally: Tally, measures: Sequence[str], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Named arrays of what cross-attention links.

    Args:
        tally: What the observers saw, merged.
        measures: Those of attention.
        sites: The observed layers.
    """
    found = tally.compute()
    heads = np.array([site.heads for site in sites])
    there = np.arange(int(heads.max())) < heads[:, None]
    together = {name: sums[..., 0, :] for name, sums in found["counts"].items()}
    alone = {name: sums[..., 1:, :] for name, sums in found["counts"].items()}
    variables = {
        **_rates(together, "", _CELL),
        **_rates(alone, "head_", (*_CELL, "head"), there),
        "mean_norm": ("layer", found["merged_norm"]["mean"]),
        "head_mean_norm": (("layer", "head"), found["norm"]["mean"]),
    }
    coordinates = {
        "measure": list(measures),
        "step": list(STEPS),
        "layer": [site.layer for site in sites],
        "head": list(range(there.shape[1])),
    }
    return _described(variables, coordinates, found["counts"]["total"])


def input_dataset(tally: Tally, measures: Sequence[str]) -> xarray.Dataset:
    """Named arrays of what gradients and differences link.

    Args:
        tally: What the observers saw, merged.
        measures: Those of the input.
    """
    found = tally.compute()["counts"]
    variables = _rates(found, "input_", ("input_measure",))
    return _described(variables, {"input_measure": list(measures)}, found["total"])


def similarity_dataset(
    tally: Tally, extractions: Sequence[str], layers: Sequence[int]
) -> xarray.Dataset:
    """Named arrays of what similar hidden states link.

    Args:
        tally: What the observers saw, merged.
        extractions: How similarities became links.
        layers: After how many layers.
    """
    found = tally.compute()["counts"]
    variables = _rates(found, "similarity_", ("extraction", "layer"))
    coordinates = {"extraction": list(extractions), "layer": list(layers)}
    return _described(variables, coordinates, found["total"])


def _rates(
    sums: dict[str, np.ndarray],
    prefix: str,
    axes: tuple[str, ...],
    there: Bool[np.ndarray, "layer head"] | None = None,
) -> dict[str, Any]:
    """Precision, recall and error rate with their intervals; NaN where there is no head."""
    low, high = link_rate_intervals(sums["replicates"])
    found: dict[str, Any] = {}
    for bound, values in (("", link_rates(sums["total"])), ("_low", low), ("_high", high)):
        for at, rate in enumerate(RATES):
            found[f"{prefix}{rate}{bound}"] = values[..., at]
    found[f"{prefix}links"] = sums["total"][..., COUNTS.index("links")]
    if there is not None:
        found = {name: np.where(there, values, np.nan) for name, values in found.items()}
    return {name: (axes, values) for name, values in found.items()}


def _described(
    variables: dict[str, Any], coordinates: dict[str, Any], total: np.ndarray
) -> xarray.Dataset:
    cell = total.reshape(-1, len(COUNTS))[0]
    attributes = {f"gold_{name}": int(cell[COUNTS.index(name)]) for name in ("sure", "possible")}
    attributes["sentences"] = int(cell[COUNTS.index("sentences")])
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)
