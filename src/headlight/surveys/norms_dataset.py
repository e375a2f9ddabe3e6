"""The result of a study of norms: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import xarray

from headlight.reduce import Tally
from headlight.result import FORMAT
from headlight.surveys.dataset import dispersion

STAGE = "norms"
HEAD = ("layer", "head")
QUANTITIES = ("weight", "norm")
"""What a frequency is compared with: α received, and ‖f(x)‖."""
PAIR = ("weight", "norm")
FIELDS = ("rank", "weight", "norm", "token")


def dataset(
    tally: Tally,
    layers: Sequence[int],
    categories: Sequence[str],
    attributes: dict[str, Any],
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in increasing order.
        categories: the names of the categories of keys.
        attributes: what would have to be repeated to get the same.
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
    variables |= dispersion("vector_norm", found, HEAD) | dispersion("input_norm", found, HEAD[:1])
    coordinates = {
        "layer": list(layers),
        "head": list(range(found["weight"]["mean"].shape[1])),
        "key_category": list(categories),
    }
    described = {name: value for name, value in attributes.items() if value is not None}
    return xarray.Dataset(
        variables, coords=coordinates, attrs={**described, "format": FORMAT, "stage": STAGE}
    )
