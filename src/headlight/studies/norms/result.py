"""The result of a study of norms: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.dispersion import describe_dispersion, dispersion
from headlight.reduce import RankCorrelation, Tally
from headlight.result import describe
from headlight.studies.norms.frequency import Occurrences
from headlight.studies.norms.occurrences import correlations

HEAD = ("layer", "head")
QUANTITIES = ("weight", "norm")
"""What a frequency is compared with: α received, and ‖f(x)‖."""
PAIR = ("weight", "norm")
SAMPLED = ("key_category", "sample", "pair")
FIELDS = ("rank", "weight", "norm", "token")


def _described(name: str, words: str) -> dict[str, tuple[str, str]]:
    """Long names and units of a rank correlation, of all heads, by layer and by head."""
    return {
        f"{name}{part}{suffix}": (text, "1")
        for part in ("", "_by_layer", "_by_head")
        for suffix, text in (
            ("", f"Spearman's ρ of {words}"),
            ("_error_bound", f"how far ρ of {words} may be off"),
            ("_count", f"observations in ρ of {words}"),
        )
    }


VARIABLES = {
    "weight_total": ("weight that keys of a category receive from a query", "1"),
    "weighted_norm_total": ("‖αf(x)‖ that keys of a category receive from a query", ""),
    "vector_norm_by_category": ("mean ‖f(x)‖ of the keys of a category", ""),
    "examples_by_category": ("examples with keys of a category", "1"),
    "token_count": ("tokens", "1"),
    "pairs_sample": ("α and ‖f(x)‖ of pairs of positions, at random", ""),
    "frequency_sample": ("occurrences of tokens, at random", ""),
    **_described("weight_norm_spearman", "α and ‖f(x)‖"),
    **_described("frequency_spearman", "frequency rank and what a token receives"),
    **describe_dispersion("vector_norm", "‖f(x)‖"),
    **describe_dispersion("input_norm", "‖x‖"),
}
"""Long name and unit of every variable; norms are in units of the model's hidden states."""


def dataset(
    tally: Tally,
    occurrences: Occurrences,
    layers: Sequence[int],
    categories: Sequence[str],
    *,
    sample: int,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        occurrences: how often the types of tokens occur.
        layers: the numbers of the layers, in increasing order.
        categories: the names of the categories of keys.
        sample: pairs of each category to give, at most, and occurrences.
    """
    found = tally.compute()
    by_key = (*HEAD, "key_category")
    variables: dict[str, Any] = {
        "weight_total": (by_key, found["weight"]["mean"]),
        "weighted_norm_total": (by_key, found["weighted_norm"]["mean"]),
        "vector_norm_by_category": (by_key, found["category_norm"]["mean"]),
        "examples_by_category": ("key_category", found["category_norm"]["count"].max(axis=(0, 1))),
        "token_count": ("key_category", found["tokens"]["total"]),
    }
    by_layer = tally["ranks_by_layer"]
    assert isinstance(by_layer, RankCorrelation)  # noqa: S101 - so the observer makes it
    variables |= _correlation(
        "weight_norm_spearman", ("key_category",), by_layer.pooled(0).compute()
    )
    variables |= _correlation("weight_norm_spearman_by_layer", by_key[::2], found["ranks_by_layer"])
    variables |= _correlation("weight_norm_spearman_by_head", by_key, found["ranks_by_head"])
    for name, statistics in correlations(tally, occurrences).items():
        dims = {"frequency": (), "frequency_by_layer": HEAD[:1], "frequency_by_head": HEAD}[name]
        full = name.replace("frequency", "frequency_spearman")
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
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)


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
