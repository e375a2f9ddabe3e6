"""Measures that are equal: effective attention where it is the weight."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

SAME = 1e-5
"""Numbers that differ by less are the same."""

_BOTH = ("weight", "effective")


def equal_to_weight(result: xr.Dataset) -> str:
    """Return why effective attention equals the weight; empty if it does not, or if one is missing.

    T of a text with no more tokens than the head has dimensions has no left null space
    (Brunner et al. 2020, Section 3.2), so that all of the weight can change the output; unless
    tokens have the same values, as the same word has twice below the first rotary positions.

    Args:
        result: Reading, or result of any study, of one kind of attention.
    """
    if set(_BOTH) <= set(result.data_vars):
        same = np.array(equal_layers(result))
        others = ", ".join(map(str, result["layer"].values[~same]))
        where = f"here, but in layer {others}" if others else "here"
        return f"equal to the weight {where}: {_why(result)}" if same.any() else ""
    if not _is_same_result(result):
        return ""
    return "equal to the weight here, as in texts with no more tokens than a head has dimensions"


def equal_layers(reading: xr.Dataset) -> list[bool]:
    """Return, for each layer of a reading with both, whether effective attention is the weight."""
    return [
        _is_same(*(reading[name].isel(layer=layer).values for name in _BOTH))
        for layer in range(reading.sizes["layer"])
    ]


def _why(reading: xr.Dataset) -> str:
    tokens, dimensions = reading.sizes["key"], int(reading.attrs.get("head_dim", 0))
    if tokens > dimensions:
        return "all of it can change the head's output"
    few = "fewer than" if tokens < dimensions else "as many as"
    return f"{tokens} tokens are {few} the head's {dimensions} dimensions"


def _is_same_result(result: xr.Dataset) -> bool:
    names = result.coords["measure"].values.tolist() if "measure" in result.sizes else []
    if not set(_BOTH) <= set(names):
        return False
    measured = [variable for variable in result.data_vars.values() if "measure" in variable.dims]
    numbers = [variable for variable in measured if variable.dtype.kind in "fiu"]
    return bool(numbers) and all(
        _is_same(*(variable.sel(measure=name).values for name in _BOTH)) for variable in numbers
    )


def _is_same(numbers: NDArray[np.floating[Any]], other: NDArray[np.floating[Any]]) -> bool:
    return bool(np.allclose(numbers, other, rtol=0, atol=SAME, equal_nan=True))
