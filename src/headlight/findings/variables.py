"""Variables of a result as arrays, and the measures that it holds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.vocabulary import Measure, measure_table


def observed(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> NDArray[np.float64]:
    """Return a variable at the given labels, as an array over ``dims``; all NaN if missing."""
    places = places_of(result, name, labels)
    if places is None:
        return np.full(tuple(result.sizes.get(dim, 0) for dim in dims), np.nan)
    values = result.variables[name].isel(places).transpose(*dims).values
    return np.asarray(values, dtype=np.float64)


def places_of(
    result: xr.Dataset, name: str, labels: Mapping[str, str | int | np.integer[Any]]
) -> dict[str, int] | None:
    """Return the places of labels along the axes of a variable; None if anything is missing."""
    variable = result.variables.get(name)
    if variable is None:
        return None
    # By places and not by labels: a report reads hundreds of arrays.
    places: dict[str, int] = {}
    for dim, label in labels.items():
        if dim not in variable.dims:
            return None
        values = result.variables[dim].values if dim in result.variables else result[dim].values
        at = np.flatnonzero(values == label)
        if not at.size:
            return None
        places[dim] = int(at[0])
    return places


def surveyed(result: xr.Dataset, *, per_head: bool = True) -> list[Measure]:
    """Return the measures of heads, or of whole layers, of a survey, in the order of the table."""
    names = result["measure"].values if "measure" in result.coords else ()
    return [row for row in measure_table() if row.name in names and row.per_head == per_head]
