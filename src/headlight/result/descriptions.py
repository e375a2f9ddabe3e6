"""Long names, units and scales of the variables of a result, and the bounds of their intervals."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import xarray

from headlight.vocabulary import measure

Scale = Literal["share", "correlation", "positive", "signed", "row_share", "row_positive"]
"""Kind of number of an interval; with ``row_`` for rows, where measures with a sign are signed."""
LIMITS = {
    "share": (0.0, 1.0),
    "correlation": (-1.0, 1.0),
    "positive": (0.0, np.inf),
    "signed": (-np.inf, np.inf),
}
"""Least and largest number of each kind, within which intervals stay."""

Description = tuple[str, str] | tuple[str, str, Scale]
"""Long name and unit of a variable, and the scale of one with an interval."""


def describe(dataset: xarray.Dataset, variables: Mapping[str, Description]) -> xarray.Dataset:
    """Describe the variables of a result, and clip its intervals to their bounds.

    Args:
        dataset: Result to describe.
        variables: Long name and unit of each variable that it may have; ``1`` is a pure number, and
            an empty unit is that of the model's hidden states. A number with an interval and the
            ends of that have a third part, their scale.
    """
    for name, variable in dataset.data_vars.items():
        long_name, unit, *scale = variables[str(name)]
        variable.attrs.update(long_name=long_name, units=unit)
        if scale:
            variable.attrs["scale"] = scale[0]
            if str(name).endswith(("low", "high")):
                variable.values = variable.clip(*bounds(variable)).values
    return dataset


def bounds(variable: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """Return the least and the largest possible number of a variable with a scale.

    They have no axis but ``measure`` for the shares and means of rows, which are unbounded for
    measures with a sign.
    """
    of_row, _, scale = str(variable.attrs["scale"]).rpartition("_")
    low, high = map(xarray.DataArray, LIMITS[scale])
    if of_row:
        signed = [measure(str(name)).signed for name in variable["measure"].values]
        free = xarray.DataArray(signed, dims="measure")
        low, high = low.where(~free, -np.inf), high.where(~free, np.inf)
    return low, high
