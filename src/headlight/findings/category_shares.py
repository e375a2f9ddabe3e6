"""Shares of attention that go to categories of tokens."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.variables import observed
from headlight.vocabulary import CATEGORIES

TOTALS = ("weight", "norm")
"""Measures whose totals by category of keys are compared."""

TOKENS = {"token_share": "key_category", "token_count": "key_group"}
"""Names in results of the number of tokens of a category, and of its axis."""


def occurs(result: xr.Dataset, category: str) -> bool:
    """Return whether any attended token was of the category, as far as the result says."""
    counts = [observed(result, name, (), **{dim: category}) for name, dim in TOKENS.items()]
    return not any(float(count) == 0 for count in counts)


def share(
    result: xr.Dataset, measure: str, category: str, query: str = "all"
) -> NDArray[np.float64]:
    """Return the share of a measure that a token category gets, [layer, head]; NaN without any."""
    if not occurs(result, category):
        return np.full((result.sizes["layer"], result.sizes["head"]), np.nan)
    return observed(result, "share", measure=measure, query_category=query, key_category=category)


def out_of_reach(result: xr.Dataset, query: str = "all") -> NDArray[np.float64]:
    """Return the share of the weight that cannot change the head's output, [layer, head].

    It is what a row of effective attention lacks (Brunner et al. 2020, Eq. 9).
    """
    weight, effective = (
        np.stack([share(result, name, category, query) for category in CATEGORIES])
        for name in ("weight", "effective")
    )
    both_observed = np.isfinite(weight) & np.isfinite(effective)
    missing = np.where(both_observed, weight - effective, 0.0).sum(axis=0)
    return np.asarray(np.where(both_observed.any(axis=0), missing, np.nan))


def shares_by_key(result: xr.Dataset, measure: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return the categories of keys, with sinks where they were sought, and the share of each.

    Args:
        result: Survey.
        measure: Measure, one of `TOTALS`.

    Returns:
        Names of the categories, and their shares of all that a head gives, [layer, head, category].
    """
    if "group_total" in result:
        dim, name, labels = "key_group", "group_total", {}
    else:
        dim, name, labels = "key_category", "total", {"query_category": "all"}
    totals = observed(result, name, ("layer", "head", dim), measure=measure, **labels)
    whole = np.nansum(totals, axis=-1, keepdims=True)
    shares = np.divide(totals, whole, out=np.full_like(totals, np.nan), where=whole > 0)
    return [str(category) for category in result[dim].values], np.asarray(shares)
