"""Numbers of a result with their intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from headlight.findings.category_shares import out_of_reach
from headlight.findings.variables import observed, places_of
from headlight.result.estimate import MOVED, Estimate as Estimate, average as average, estimate_of
from headlight.vocabulary import CATEGORIES, FEWEST_FREEDOM

ENDS = ("", "_low", "_high")


def estimates(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> Estimate:
    """Return a variable at these labels with the numbers from which its interval is computed.

    A result that holds the ends ``_low`` and ``_high`` alone gives these; all is NaN where the
    result has no such variable or label, as in `observed`.

    Args:
        result: Result of any study.
        name: Name of the variable.
        dims: Axes of the estimate, in this order.
        labels: Labels along the other axes of the variable.
    """
    places = places_of(result, name, labels)
    estimate = None if places is None else estimate_of(result, name, dims, places)
    if estimate is not None:
        return estimate
    return Estimate.with_ends(*(observed(result, name + end, dims, **labels) for end in ENDS))


def unreached(result: xr.Dataset) -> Estimate:
    """Return the share of the weight that cannot change the head's output, [layer, head]."""
    dims, value = ("layer", "head"), out_of_reach(result)
    if f"share{MOVED}" not in result.variables:
        return Estimate.with_ends(value)
    weights, effective = (
        estimates(result, "share", ("key_category", *dims), measure=by, query_category="all")
        for by in ("weight", "effective")
    )
    apart = weights.minus(effective).at(np.isin(result["key_category"], CATEGORIES))
    part = apart.mean(0).times(np.maximum(np.isfinite(apart.value).sum(0), 1))
    return replace(part, value=value)


def by_length(result: xr.Dataset) -> Estimate:
    """Return the correlation of raw and effective attention by the length of texts.

    Its ends are those of Student's t over the texts of each length.
    """
    from scipy.special import stdtrit

    name, dims = "effective_correlation", ("length",)
    value, deviation, count = (observed(result, name + end, dims) for end in ("", "_std", "_count"))
    freedom = np.where(count - 1 >= FEWEST_FREEDOM, count - 1, np.nan)
    half = stdtrit(freedom, 0.975) * deviation / np.sqrt(freedom)
    return Estimate.with_ends(value, np.maximum(value - half, -1), np.minimum(value + half, 1))


def means(result: xr.Dataset, name: str, *dims: str) -> Estimate:
    """Return a variable over these axes, and the mean over all others."""
    others = [str(dim) for dim in result[name].dims if dim not in dims]
    numbers = estimates(result, name, (*dims, *others))
    return numbers.mean(tuple(range(len(dims), len(dims) + len(others)))) if others else numbers


def pairwise(result: xr.Dataset, name: str, pairs: Sequence[tuple[str, str]], dim: str) -> Estimate:
    """Return the number of each pair in a matrix over ``dim`` and ``other``."""
    labels = [result[axis].values.tolist() for axis in (dim, "other")]
    rows, columns = ([of_dim.index(pair[n]) for pair in pairs] for n, of_dim in enumerate(labels))
    return estimates(result, name, (dim, "other")).at((rows, columns))
