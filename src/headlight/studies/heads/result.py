"""The result of a survey: statistics with named axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.measures import GRADIENT, MEASURES
from headlight.reduce import Tally
from headlight.result import CATEGORIES, FORMAT
from headlight.studies.heads.observer import OFFSETS, QUERY_CATEGORIES

GROUP = ("layer", "head", "measure")


def dataset(
    tally: Tally,
    layers: Sequence[int],
    attributes: dict[str, Any],
    measures: Sequence[str] = MEASURES,
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers, in the order in which they were observed.
        attributes: what would have to be repeated to get the same.
        measures: which were observed, in that order.
    """
    found = tally.compute()
    coordinates = {
        "measure": list(measures),
        "layer": list(layers),
        "head": list(range(found["total"]["mean"].shape[1])),
        "query_category": list(QUERY_CATEGORIES),
        "key_category": list(CATEGORIES),
        "offset": list(OFFSETS),
    }
    total = xarray.DataArray(
        found["total"]["mean"], dims=(*GROUP, "query_category", "key_category")
    )
    neighbour = xarray.DataArray(found["neighbour"]["mean"], dims=(*GROUP, "offset"))
    variables: dict[str, Any] = {
        "total": _measure_first(total),
        "share": _measure_first(_shared(total, total, measures)),
        "neighbour": _measure_first(_shared(neighbour, total.isel(query_category=0), measures)),
        "entropy": _measure_first(
            xarray.DataArray(found["entropy"]["mean"], dims=(*GROUP, "query_category"))
        ),
        "entropy_uniform": ((), found["entropy_uniform"]["mean"]),
        "token_share": ("key_category", found["token_share"]["mean"]),
    }
    variables |= _of_merged_norms(found) | _of_effective(found)
    variables |= dispersion("vector_norm", found, ("layer", "head"))
    variables |= dispersion("input_norm", found, ("layer",))
    described = {name: value for name, value in attributes.items() if value is not None}
    return xarray.Dataset(
        variables, coords=coordinates, attrs={**described, "format": FORMAT, "stage": "survey"}
    )


def _measure_first(array: xarray.DataArray) -> xarray.DataArray:
    return array.transpose("measure", ...)


def _shared(
    part: xarray.DataArray, total: xarray.DataArray, measures: Sequence[str]
) -> xarray.DataArray:
    """A share of the row's whole, which weights and effective attention are already."""
    are_shares = np.array([name not in ("norm", GRADIENT) for name in measures])
    whole = total.sum("key_category", min_count=1)
    return part.where(xarray.DataArray(are_shares, dims="measure"), part / whole)


def _of_merged_norms(found: dict[str, Any]) -> dict[str, Any]:
    """‖Σ_h α f(x)‖; nothing if no norm was observed."""
    if "merged" not in found:
        return {}
    dims = ("layer", "query_category", "key_category")
    merged = xarray.DataArray(found["merged"]["mean"], dims=dims)
    return {
        "merged_total": merged,
        "merged_share": merged / merged.sum("key_category", min_count=1),
    }


def _of_effective(found: dict[str, Any]) -> dict[str, Any]:
    """Effective attention beside the weights; nothing if it was not observed."""
    if "correlation" not in found:
        return {}
    correlation = found["correlation"]
    return {
        "length": correlation["key"],
        "rank": (("layer", "head"), found["rank"]["mean"]),
        "correlation_by_head": (("layer", "head"), found["correlation_by_head"]["mean"]),
        "correlation": ("length", correlation["mean"]),
        "correlation_std": ("length", correlation["std"]),
        "correlation_count": ("length", correlation["count"]),
    }


def dispersion(name: str, found: dict[str, Any], dims: tuple[str, ...]) -> dict[str, Any]:
    """Mean, σ, CV = σ/mean, smallest and largest (Kobayashi et al. 2020, Table 1)."""
    if name not in found:
        return {}
    statistics = found[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = statistics["std"] / statistics["mean"]
    return {
        f"{name}_mean": (dims, statistics["mean"]),
        f"{name}_std": (dims, statistics["std"]),
        f"{name}_cv": (dims, variation),
        f"{name}_min": (dims, statistics["minimum"]),
        f"{name}_max": (dims, statistics["maximum"]),
    }
