"""Results of several kinds of attention as one, and each of them by itself again.

A result of all kinds has a dimension ``kind``.  Encoder and decoder may have different layers and
heads, and source and target different tokens: the result has the labels of all kinds, and NaN (for
words an empty one) where a kind has no such label.  The attribute ``kinds`` holds, as JSON, the
information to undo this exactly.
"""

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import xarray

from headlight.errors import UnknownNameError, UsageError
from headlight.result.estimate import slot_coordinates

KINDS = "kinds"
ALL: Literal["all"] = "all"
"""Kind of a result that has all kinds."""

MULTI_KIND = "multi_kind"
"""Mark of the result of a kind that is shown beside others, so that names of heads say the kind.

It is the place of the kind among them, from 1."""


def concat_kinds(parts: Mapping[str, xarray.Dataset]) -> xarray.Dataset:
    """Join the results of several kinds along a new first dimension ``kind``.

    Attributes that differ between kinds are found again by `split_kinds`.

    Args:
        parts: Results by kind, all of one study, or readings of one pair of texts.
    """
    slots = list({name: None for part in parts.values() for name in slot_coordinates(part)})
    parts = {kind: part.reset_coords(slot_coordinates(part)) for kind, part in parts.items()}
    datasets = list(parts.values())
    dims = dict.fromkeys(dim for part in datasets for dim in part.sizes)
    labels = {dim: _union(datasets, dim) for dim in dims}
    whole = [_spread(part, labels) for part in datasets]
    names = list(dict.fromkeys(name for part in datasets for name in part.data_vars))
    models = {name: next(part[name] for part in whole if name in part) for name in names}
    whole = [part.assign(_missing(part, models))[names] for part in whole]
    joined = xarray.concat(
        whole,
        dim=xarray.DataArray(list(parts), dims="kind", name="kind"),
        data_vars="all",
        coords="all",
        join="exact",
        combine_attrs="override",
    )
    unlabelled = [dim for dim in labels if all(dim not in part.coords for part in datasets)]
    joined = joined.drop_vars(unlabelled)
    common = _common([part.attrs for part in datasets])
    differences = {kind: _differences(part, labels, common, joined) for kind, part in parts.items()}
    joined.attrs = {**common, "kind": ALL, KINDS: json.dumps(differences)}
    return joined.set_coords(slots)


def split_kinds(result: xarray.Dataset) -> dict[str, xarray.Dataset]:
    """Return the result of each kind alone, by its name; a result of one kind is returned as it is.

    Args:
        result: Result of any study, or a reading; also one kind of it, selected with ``sel``.
    """
    if KINDS not in result.attrs:
        return {str(result.attrs.get("kind", "")): result}
    differences = json.loads(result.attrs[KINDS])
    if not result["kind"].dims:
        kind = str(result["kind"].item())
        return {kind: _restored(result.drop_vars("kind"), kind, differences[kind])}
    return {
        kind: _restored(result.sel(kind=kind, drop=True), kind, differences[kind])
        for kind in map(str, result["kind"].values)
    }


def of_kind(result: xarray.Dataset, kind: str) -> xarray.Dataset:
    """Return the result of one kind alone.

    Raises:
        UnknownNameError: The result has no such kind.
    """
    parts = split_kinds(result)
    if kind not in parts:
        raise UnknownNameError("kind of attention in this result", kind, parts)
    return parts[kind]


def require_one_kind(reading: xarray.Dataset) -> None:
    """Refuse a reading of several kinds of attention.

    Raises:
        UsageError: The reading is of several kinds.
    """
    if KINDS in reading.attrs:
        raise UsageError(
            "this reading is of several kinds of attention "
            f"({', '.join(split_kinds(reading))}); choose one with of_kind."
        )


def split_for_display(result: xarray.Dataset) -> list[xarray.Dataset]:
    """Return the kinds of a result, each marked as `MULTI_KIND` if there are several."""
    parts = list(split_kinds(result).values())
    if len(parts) == 1:
        return parts
    return [part.assign_attrs({MULTI_KIND: place}) for place, part in enumerate(parts, 1)]


def _labels(part: xarray.Dataset, dim: Hashable) -> list[Any]:
    """Return the labels along a dimension; numbers from 0 where it has none."""
    if dim not in part.sizes:
        return []
    labels: list[Any] = part[dim].values.tolist()  # numbers, where there is no coordinate
    return labels


def _union(parts: Iterable[xarray.Dataset], dim: Hashable) -> list[Any]:
    # Numbers in increasing order, names in order of appearance.
    labels = list(dict.fromkeys(label for part in parts for label in _labels(part, dim)))
    return labels if any(isinstance(label, str) for label in labels) else sorted(labels)


def _spread(part: xarray.Dataset, labels: Mapping[Hashable, list[Any]]) -> xarray.Dataset:
    """Return the result of one kind over all labels."""
    named = part.assign_coords({dim: part[dim].values for dim in part.sizes})
    words = {name: "" for name, variable in named.variables.items() if variable.dtype.kind in "UO"}
    wanted = {dim: labels[dim] for dim in part.sizes}
    return named.reindex(wanted, fill_value={**dict.fromkeys(named.variables, np.nan), **words})


def _missing(
    part: xarray.Dataset, models: Mapping[Hashable, xarray.DataArray]
) -> dict[Hashable, xarray.DataArray]:
    """Return the variables that only other kinds have, filled with NaN."""
    return {
        name: xarray.full_like(model, np.nan, dtype=np.float64)
        for name, model in models.items()
        if name not in part
    }


def _common(attributes: list[Mapping[Any, Any]]) -> dict[str, Any]:
    first, *others = attributes
    return {
        str(name): value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }


def _differences(
    part: xarray.Dataset,
    labels: Mapping[Hashable, list[Any]],
    common: Mapping[str, Any],
    joined: xarray.Dataset,
) -> dict[str, Any]:
    """Return the differences between the result of a kind and the joined one, as JSON."""
    return {
        "attributes": {name: value for name, value in part.attrs.items() if name not in common},
        "labels": {
            dim: _labels(part, dim) if dim in part.coords else size
            for dim, size in part.sizes.items()
            if _labels(part, dim) != labels[dim]
        },
        "lacks": [name for name in joined.data_vars if name not in part],
        "types": {
            name: part[name].dtype.str
            for name in part.variables
            if name not in part.sizes and part[name].dtype != joined[name].dtype
        },
    }


def _restored(part: xarray.Dataset, kind: str, differences: Mapping[str, Any]) -> xarray.Dataset:
    chosen = part.drop_vars(differences["lacks"])
    used = {
        dim for name, variable in chosen.variables.items() for dim in variable.dims if name != dim
    }
    lost = {dim for name in differences["lacks"] for dim in part[name].dims} - used
    chosen = chosen.drop_vars(lost & {*chosen.coords})
    for dim, labels in differences["labels"].items():
        named = isinstance(labels, list)
        chosen = chosen.sel({dim: labels}) if named else chosen.isel({dim: slice(labels)})
    for name, dtype in differences["types"].items():
        chosen[name] = chosen[name].astype(dtype)
    chosen.attrs = {**part.attrs, "kind": kind, **differences["attributes"]}
    del chosen.attrs[KINDS]
    return chosen
