"""The result of a study of norms: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.reduce import RankCorrelation, Tally
from headlight.result import FORMAT
from headlight.studies.heads.result import dispersion
from headlight.studies.norms.frequency import Occurrences
from headlight.studies.norms.occurrences import correlations

STAGE = "norms"
HEAD = ("layer", "head")
QUANTITIES = ("weight", "norm")
"""What a frequency is compared with: α received, and ‖f(x)‖."""
PAIR = ("weight", "norm")
SAMPLED = ("key_category", "sample", "pair")
FIELDS = ("rank", "weight", "norm", "token")


def dataset(
    tally: Tally,
    occurrences: Occurrences,
    layers: Sequence[int],
    categories: Sequence[str],
    attributes: dict[str, Any],
    *,
    sample: int,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        occurrences: how often the types of tokens occur.
        layers: the numbers of the layers, in increasing order.
        categories: the names of the categories of keys.
        attributes: what would have to be repeated to get the same.
        sample: pairs of each category to give, at most, and occurrences.
    """
    found = tally.compute()
    by_key = (*HEAD, "key_category")
    variables: dict[str, Any] = {
        "weight_total": (by_key, found["weight"]["mean"]),
        "weighted_norm_total": (by_key, found["weighted_norm"]["mean"]),
        "vector_norm_by_category": (by_key, found["category_norm"]["mean"]),
        "documents_by_category": ("key_category", found["category_norm"]["count"].max(axis=(0, 1))),
        "token_count": ("key_category", found["tokens"]["total"]),
    }
    by_layer = tally["ranks_by_layer"]
    assert isinstance(by_layer, RankCorrelation)  # noqa: S101 - so the observer makes it
    variables |= _correlation("correlation", ("key_category",), by_layer.pooled(0).compute())
    variables |= _correlation("correlation_by_layer", by_key[::2], found["ranks_by_layer"])
    variables |= _correlation("correlation_by_head", by_key, found["ranks_by_head"])
    for name, statistics in correlations(tally, occurrences).items():
        dims = {"frequency": (), "frequency_by_layer": HEAD[:1], "frequency_by_head": HEAD}[name]
        full = name.replace("frequency", "frequency_correlation")
        variables |= _correlation(full, (*dims, "quantity"), statistics)
    (occurred,) = found["occurrences"]["rows"]
    variables["pairs_sample"] = (SAMPLED, _seen(found["pairs"]["rows"], sample))
    variables["frequency_sample"] = (("occurrence", "field"), occurred)
    variables |= dispersion("vector_norm", found, HEAD) | dispersion("input_norm", found, HEAD[:1])
    coordinates = {
        "layer": list(layers),
        "head": list(range(found["weight"]["mean"].shape[1])),
        "key_category": list(categories),
        "quantity": list(QUANTITIES),
        "pair": list(PAIR),
        "field": list(FIELDS),
    }
    described = {name: value for name, value in attributes.items() if value is not None}
    return xarray.Dataset(
        variables, coords=coordinates, attrs={**described, "format": FORMAT, "stage": STAGE}
    )


def _correlation(name: str, dims: tuple[str, ...], found: dict[str, Any]) -> dict[str, Any]:
    """Spearman's ρ, how far it may be off, and of how many pairs it is."""
    return {
        name: (dims, found["correlation"]),
        f"{name}_error_bound": (dims, found["error_bound"]),
        f"{name}_count": (dims, found["count"]),
    }


def _seen(
    rows: Float64[np.ndarray, "category drawn pair"], size: int
) -> Float64[np.ndarray, "category sample pair"]:
    """Without the pairs that could not be seen: they were drawn before that was known."""
    kept = np.full((len(rows), size, rows.shape[2]), np.nan)
    for category, drawn in enumerate(rows):
        chosen = drawn[~np.isnan(drawn[:, 0])][:size]
        kept[category, : len(chosen)] = chosen
    return kept
