"""Variables of a result: their declarations, long names, units, and slots of their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray

from headlight.reduce.accumulator import Array
from headlight.reduce.jackknife import deviations
from headlight.result import Description, Scale, describe
from headlight.result.estimate import MOVED, UNITS, WEIGHTS

_NOWHERE: Mapping[str, str] = MappingProxyType({"": ""})

LongNames = dict[str, Description]
"""Long name and unit of every variable, and the scale of those with an interval."""


@dataclass(frozen=True)
class Variable:
    """Description of a number over a corpus.

    Attributes:
        meaning: Long name.
        unit: Unit; ``1`` for a pure number.
        interval: Scale of the 95% interval, which is computed on request; None if there is none.
        by: Prefixes of the names of the variable; by default all that the table has.
    """

    meaning: str
    unit: str = "1"
    interval: Scale | None = None
    by: Sequence[str] | None = None

    def described(self, meaning: str) -> Description:
        """Return the description of the number under a longer name."""
        if self.interval is None:
            return meaning, self.unit
        return meaning, self.unit, self.interval


def long_names(table: Mapping[str, Variable], by: Mapping[str, str] = _NOWHERE) -> LongNames:
    """Return long names and units of all variables of a table.

    Args:
        table: Variables by name.
        by: Prefixes of names, each with its addition to the meaning.
    """
    return {
        f"{prefix}{name}": variable.described(f"{variable.meaning}{addition}")
        for name, variable in table.items()
        for prefix, addition in by.items()
        if variable.by is None or prefix in variable.by
    }


def with_slots(
    name: str, dims: Sequence[str], value: Array, slots: Mapping[str, Array]
) -> dict[str, xarray.DataArray]:
    """Return a number over a corpus, and the coordinates that its interval is computed from.

    Args:
        name: Name of the variable.
        dims: Axes of the variable.
        value: Number over these axes, ``[*dims]``.
        slots: Result of `headlight.reduce.Slots`; or ``mean``, ``without`` and ``whole`` of a
            combination of several, with the ``units`` of one of them.
    """
    whole = np.asarray(slots["whole"])
    moved, _ = deviations(slots["mean"], slots["without"], whole)
    finite_slots = np.where(np.broadcast_to(whole, moved.shape) > 0, moved, np.nan)
    weights, axes = whole.astype(np.float32), ["slot", *dims]
    for dim in dims:  # weights are mostly the same for all heads, so one copy saves space
        axis = axes.index(dim)
        first = weights.take([0], axis) if weights.shape[axis] else weights
        if (weights == first).all() and weights.shape[axis]:
            weights, axes = first.squeeze(axis), [kept for kept in axes if kept != dim]
    return {
        name: xarray.DataArray(value, dims=dims),
        f"{name}{MOVED}": xarray.DataArray(finite_slots.astype(np.float32), dims=("slot", *dims)),
        f"{name}{WEIGHTS}": xarray.DataArray(weights, dims=axes),
        UNITS: xarray.DataArray(slots["units"], dims="slot"),
    }


def slots_at(slots: Mapping[str, Array], place: Any) -> dict[str, Array]:
    """Return the argument of `with_slots` for a part of the cells of joint sums."""
    places = place if isinstance(place, tuple) else (place,)
    parts = {field: slots[field][:, *places] for field in ("without", "whole")}
    return {"mean": np.asarray(slots["mean"][place]), **parts, "units": slots["units"]}


def described(
    variables: Mapping[str, Any], coordinates: Mapping[str, Any], names: LongNames
) -> xarray.Dataset:
    """Return a dataset whose variables have their long names and units."""
    slots = [name for name in variables if name == UNITS or name.endswith((MOVED, WEIGHTS))]
    dataset = xarray.Dataset(dict(variables), coords=dict(coordinates)).set_coords(slots)
    return describe(dataset, {str(name): names[str(name)] for name in dataset.data_vars})
