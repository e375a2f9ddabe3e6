"""Reading numbers out of a result in which anything may be missing."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.result.estimate import average as average
from headlight.result.kinds import MULTI_KIND
from headlight.vocabulary import CATEGORIES, CATEGORY_LABELS, Measure, head_name, measure_table

TOTALS = ("weight", "norm")
"""Measures of which is compared what goes to each category of keys."""

TOKENS = {"token_share": "key_category", "token_count": "key_group"}
"""What results call the number of tokens of a category, and its axis."""

_LABELS = {"all": "all tokens", **CATEGORY_LABELS, "sink": "sinks"}


def observed(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> NDArray[np.float64]:
    """A variable at the given labels, as an array over ``dims``; all NaN if it is not there."""
    places = places_of(result, name, labels)
    if places is None:
        return np.full(tuple(result.sizes.get(dim, 0) for dim in dims), np.nan)
    values = result.variables[name].isel(places).transpose(*dims).values
    return np.asarray(values, dtype=np.float64)


def places_of(
    result: xr.Dataset, name: str, labels: Mapping[str, str | int | np.integer[Any]]
) -> dict[str, int] | None:
    """Return where labels are along the axes of a variable; None if it, or one, is missing."""
    variable = result.variables.get(name)
    if variable is None:
        return None
    # By places and not by labels: a report reads hundreds of arrays.
    places: dict[str, int] = {}
    for dim, label in labels.items():
        if dim not in variable.dims:
            return None
        known = result.variables[dim].values if dim in result.variables else result[dim].values
        at = np.flatnonzero(known == label)
        if not at.size:
            return None
        places[dim] = int(at[0])
    return places


def category_label(result: xr.Dataset, category: str, *, attending: bool = False) -> str:
    """Return the name of a token category in a text, e.g. ``[SEP]``.

    A result may bring its tokenizer's own names as JSON in the attribute ``category_names``, and in
    ``query_category_names`` those of the attending text, where that is another.

    Args:
        result: of any study.
        category: of tokens.
        attending: whether they attend, and are not attended to.
    """
    known = result.attrs.get("category_names", "{}")
    names = json.loads(result.attrs.get("query_category_names", known) if attending else known)
    return str(names.get(category, _LABELS.get(category, category)))


def unit_of_keys(result: xr.Dataset) -> str:
    """Return the unit of one attended position: a ``token``, or a ``frame`` of sound."""
    heard = "recordings" in result.attrs and result.attrs.get("kind") != "decoder"
    return "frame" if heard else "token"


def occurs(result: xr.Dataset, category: str) -> bool:
    """Whether any attended token was of the category, as far as the result says."""
    counts = [observed(result, name, (), **{dim: category}) for name, dim in TOKENS.items()]
    return not any(float(count) == 0 for count in counts)


def name_of(result: xr.Dataset, layer: int, head: int | None = None) -> str:
    """The name of a head or a layer, with its kind where a result shows several kinds."""
    name = f"layer {layer}" if head is None else head_name(layer, head)
    return f"{result.attrs['kind']} {name}" if MULTI_KIND in result.attrs else name


def share(
    result: xr.Dataset, measure: str, category: str, query: str = "all"
) -> NDArray[np.float64]:
    """The share of a measure that goes to a token category, [layer, head]; NaN without any."""
    if not occurs(result, category):
        return np.full((result.sizes["layer"], result.sizes["head"]), np.nan)
    return observed(result, "share", measure=measure, query_category=query, key_category=category)


def out_of_reach(result: xr.Dataset, query: str = "all") -> NDArray[np.float64]:
    """The share of the weight that cannot change the head's output, [layer, head].

    It is what a row of effective attention lacks (Brunner et al. 2020, Eq. 9).
    """
    weight, effective = (
        np.stack([share(result, name, category, query) for category in CATEGORIES])
        for name in ("weight", "effective")
    )
    seen = np.isfinite(weight) & np.isfinite(effective)
    missing = np.where(seen, weight - effective, 0.0).sum(axis=0)
    return np.asarray(np.where(seen.any(axis=0), missing, np.nan))


def shares_by_key(result: xr.Dataset, measure: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return categories of keys, sinks being one where they were looked for, and what each gets.

    Args:
        result: a survey.
        measure: of `TOTALS`.

    Returns:
        their names; and of all that a head gives the share of each, [layer, head, category].
    """
    if "group_total" in result:
        dim, name, labels = "key_group", "group_total", {}
    else:
        dim, name, labels = "key_category", "total", {"query_category": "all"}
    totals = observed(result, name, ("layer", "head", dim), measure=measure, **labels)
    whole = np.nansum(totals, axis=-1, keepdims=True)
    shares = np.divide(totals, whole, out=np.full_like(totals, np.nan), where=whole > 0)
    return [str(each) for each in result[dim].values], np.asarray(shares)


def surveyed(result: xr.Dataset, *, per_head: bool = True) -> list[Measure]:
    """The measures of heads, or of whole layers, that a survey holds, in the order of the table."""
    names = result["measure"].values if "measure" in result.coords else ()
    return [row for row in measure_table() if row.name in names and row.per_head == per_head]
