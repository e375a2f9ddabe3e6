"""Numbers of a result along ``slot``, as coordinates that slice with them."""

from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

MOVED, WEIGHTS, UNITS = "_by_slot", "_slot_weights", "slot_units"
"""Suffixes of the coordinates of intervals, and the name of that of the units of each slot."""

ROUNDING = 8 * float(np.finfo(np.float32).eps)
"""Relative difference below which numbers count as equal: measures are computed in float32."""


def slot_coordinates(result: xarray.Dataset) -> list[str]:
    """Return the names of the coordinates that intervals are computed from."""
    names = map(str, result.variables)
    return [name for name in names if name == UNITS or name.endswith((MOVED, WEIGHTS))]


def slots_of(
    result: xarray.Dataset, name: str, dims: tuple[str, ...] | None, at: dict[str, int]
) -> tuple[Any, Any, Any, Any, Any]:
    """Return a number, the effects of blocks on it, their weights, their units, and its scale.

    Args:
        result: Result of any study, or a part of one.
        name: Name of the variable.
        dims: Axes of the number, in this order; by default all of the variable.
        at: Places along the other axes of the variable.
    """
    variable = result.variables[name]
    value = variable.isel(at)
    axes = tuple(map(str, value.dims)) if dims is None else dims
    moved = result.variables[f"{name}{MOVED}"].isel(at)
    # Axes that were added to the result with `expand_dims` are not those of its coordinates.
    sizes = {"slot": moved.sizes["slot"], **value.sizes}
    moved = moved.set_dims(sizes).transpose("slot", *axes)  # type: ignore[no-untyped-call]
    weights = result.variables[f"{name}{WEIGHTS}"]
    weights = weights.isel({dim: n for dim, n in at.items() if dim in weights.dims})
    weights = weights.set_dims(dict(moved.sizes)).transpose("slot", *axes)  # type: ignore[no-untyped-call]
    scale: Any = str(variable.attrs.get("scale", "signed"))
    if scale.startswith("row_"):
        scale = _scales_of_rows(result, variable, scale.removeprefix("row_"), at, axes)
    units = result.variables[UNITS]
    counts = units.max([dim for dim in units.dims if dim != "slot"]).values
    # A block that moves a number by no more than its rounding leaves it as it is.  Else blocks that
    # are alike would have an interval, on those processors that round them otherwise.
    numbers = value.transpose(*axes).values
    moves = np.where(np.abs(moved.values) <= ROUNDING * np.abs(numbers), 0.0, moved.values)
    return numbers, moves, weights.values, counts, scale


def _scales_of_rows(
    result: xarray.Dataset, variable: xarray.Variable, scale: str, at: dict[str, int], axes: Any
) -> Any:
    """Return the scale of each number; measures with a sign make signed shares and means."""
    from headlight.vocabulary import measure

    names = np.atleast_1d(result.variables["measure"].values)
    scales = np.array(["signed" if measure(str(name)).signed else scale for name in names])
    if "measure" not in variable.dims:
        return scales[0]
    along = xarray.Variable("measure", scales)
    if "measure" in at:
        return along.values[at["measure"]]
    sizes = {dim: variable.sizes[dim] for dim in axes}
    return along.set_dims(sizes).transpose(*axes).values  # type: ignore[no-untyped-call]


Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def added(values: Array, times: int) -> Array:
    """Return sums over `times` neighbouring slots, a power of two; the last slots are empty."""
    for _ in range(times.bit_length() - 1):
        pairs = values[0::2] + values[1::2]
        values = np.concatenate([pairs, np.zeros_like(pairs)])
    return values
