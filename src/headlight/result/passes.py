"""Results of several passes over the same data as one."""

from collections.abc import Sequence

import xarray

from headlight.result.estimate import WEIGHTS, slot_coordinates


def joined(parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Join the results of several passes over the same data.

    Parts by measure are joined along it; variables that only some have are missing in the others.
    Variables that do not depend on the measure, and attributes, are those of the first part that
    has them.
    """
    if len(parts) == 1:
        return parts[0]
    attributes = {name: value for part in parts[::-1] for name, value in part.attrs.items()}
    slots = {name: None for part in parts for name in slot_coordinates(part)}
    parts = [part.reset_coords(slot_coordinates(part)) for part in parts]
    parts = [_with_measures(part, parts) for part in parts]
    by_measure = [part for part in parts if "measure" in part.dims]
    merged = xarray.merge(
        [part.drop_dims("measure", errors="ignore") for part in parts],
        compat="override",
        combine_attrs="override",
    )
    if not by_measure:
        return merged.assign_attrs(attributes).set_coords(slots)
    along = [
        part[[name for name, variable in part.data_vars.items() if "measure" in variable.dims]]
        for part in by_measure
    ]
    together = xarray.concat(along, dim="measure", join="exact")
    return merged.merge(together).assign_attrs(attributes).set_coords(slots)


def _with_measures(part: xarray.Dataset, parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Return a part whose weights of blocks have an axis of measures where others' differ."""
    for name in [name for name in map(str, part.data_vars) if name.endswith(WEIGHTS)]:
        weights = [other[name].reset_coords(drop=True) for other in parts if name in other]
        has_measures = "measure" in part[name.removesuffix(WEIGHTS)].dims
        if (
            has_measures
            and "measure" not in part[name].dims
            and not all(other.identical(weights[0]) for other in weights)
        ):
            part = part.assign({name: part[name].expand_dims(measure=part["measure"])})
    return part
