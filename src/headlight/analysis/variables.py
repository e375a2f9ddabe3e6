"""The variables of results: what each means, and whether it has an interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray

from headlight.reduce.base import Array
from headlight.reduce.intervals import deviations
from headlight.result import Description, Scale, describe
from headlight.result.estimate import MOVED, UNITS, WEIGHTS

_NOWHERE: Mapping[str, str] = MappingProxyType({"": ""})

Replicates = tuple[Array, Array, Array]
"""A number, what it is without each group of texts, and how much there is of each group."""

LongNames = dict[str, Description]
"""Long name and unit of every variable, and the scale of those with an interval."""


@dataclass(frozen=True)
class Variable:
    """Description of a number over a corpus.

    Attributes:
        meaning: its long name.
        unit: its unit; ``1`` of a pure number.
        interval: the scale of the 95% interval that is computed when asked; None if there is none.
        by: prefixes of the names under which it stands; by default all that the table has.
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
    """Long names and units of all variables of a table.

    Args:
        table: the variables by name.
        by: prefixes of names, each with what it adds to the meaning.
    """
    return {
        f"{prefix}{name}": one.described(f"{one.meaning}{of}")
        for name, one in table.items()
        for prefix, of in by.items()
        if one.by is None or prefix in one.by
    }


def with_slots(
    name: str, dims: Sequence[str], value: Array, slots: Mapping[str, Array]
) -> dict[str, xarray.DataArray]:
    """Return a number over a corpus, and the coordinates that its interval is computed from.

    Args:
        name: of the variable.
        dims: its axes.
        value: the number, ``[*dims]``.
        slots: what `headlight.reduce.Slots` computes; or ``mean``, ``without`` and ``whole`` of
            what was made of several, with the ``units`` of one.
    """
    whole = np.asarray(slots["whole"])
    moved, _ = deviations(slots["mean"], slots["without"], whole)
    kept = np.where(np.broadcast_to(whole, moved.shape) > 0, moved, np.nan)
    weights, axes = whole.astype(np.float32), ["slot", *dims]
    for dim in dims:  # sums of texts are mostly the same for all heads
        axis = axes.index(dim)
        first = weights.take([0], axis) if weights.shape[axis] else weights
        if (weights == first).all() and weights.shape[axis]:
            weights, axes = first.squeeze(axis), [each for each in axes if each != dim]
    return {
        name: xarray.DataArray(value, dims=dims),
        f"{name}{MOVED}": xarray.DataArray(kept.astype(np.float32), dims=("slot", *dims)),
        f"{name}{WEIGHTS}": xarray.DataArray(weights, dims=axes),
        UNITS: xarray.DataArray(slots["units"], dims="slot"),
    }


def slots_at(slots: Mapping[str, Array], place: Any) -> dict[str, Array]:
    """Return what `with_slots` needs of a part of the cells whose sums were made together."""
    places = place if isinstance(place, tuple) else (place,)
    parts = {each: slots[each][:, *places] for each in ("without", "whole")}
    return {"mean": np.asarray(slots["mean"][place]), **parts, "units": slots["units"]}


def described(
    variables: Mapping[str, Any], coordinates: Mapping[str, Any], names: LongNames
) -> xarray.Dataset:
    """A dataset whose variables have their long names and units."""
    slots = [each for each in variables if each == UNITS or each.endswith((MOVED, WEIGHTS))]
    made = xarray.Dataset(dict(variables), coords=dict(coordinates)).set_coords(slots)
    return describe(made, {str(name): names[str(name)] for name in made.data_vars})


def dispersion(name: str, found: dict[str, Any], dims: tuple[str, ...]) -> dict[str, Any]:
    """Mean, σ, CV = σ/mean, smallest and largest (Kobayashi et al. 2020, Table 1)."""
    if name not in found:
        return {}
    statistics = found[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = statistics["std"] / statistics["mean"]
    variables: dict[str, Any] = {
        f"{name}_mean": (dims, statistics["mean"]),
        f"{name}_std": (dims, statistics["std"]),
        f"{name}_cv": (dims, variation),
        f"{name}_min": (dims, statistics["minimum"]),
        f"{name}_max": (dims, statistics["maximum"]),
    }
    sums = found[f"slots_{name}_powers"]
    replicates = of_lengths(name, (sums["mean"], sums["without"], sums["whole"]))
    for each, of in replicates.items():
        slots = dict(zip(("mean", "without", "whole"), of, strict=True))
        value = variables[each][1]
        variables |= with_slots(each, dims, value, {**slots, "units": sums["units"]})
    return variables


def of_lengths(name: str, powers: Replicates) -> dict[str, Replicates]:
    """Mean, σ and CV; of a layer alone without an axis of heads.

    Args:
        name: ``vector_norm`` or ``input_norm``.
        powers: means of lengths and of their squares along the last axis.
    """
    mean, squares = part(powers, 0), part(powers, 1)
    if name == "input_norm":
        mean, squares = part(mean, 0), part(squares, 0)
    std = standard_deviations(mean, squares)
    cv = _quotient(std[0], mean[0]), _quotient(std[1], mean[1]), mean[2]
    return {f"{name}_mean": mean, f"{name}_std": std, f"{name}_cv": cv}


def part(of: Replicates, at: int | slice) -> Replicates:
    """Along the last axis."""
    value, without, whole = of
    return value[..., at], without[..., at], whole[..., at]


def standard_deviations(mean: Replicates, squares: Replicates) -> Replicates:
    """From the means of numbers and of their squares."""
    value, without = (
        np.sqrt(np.maximum(squared - average**2, 0))
        for average, squared in zip(mean[:2], squares[:2], strict=True)
    )
    return value, without, mean[2]


def _quotient(part: Array, whole: Array) -> Array:
    quotient: Array = part / np.where(whole > 0, whole, np.nan)
    return quotient


def describe_dispersion(name: str, symbol: str) -> dict[str, Variable]:
    """Describe the variables of `dispersion`."""
    statistics = {
        "mean": ("mean", ""),
        "std": ("standard deviation", ""),
        "cv": ("coefficient of variation", "1"),
        "min": ("smallest", ""),
        "max": ("largest", ""),
    }
    return {
        f"{name}_{suffix}": Variable(
            f"{words} of {symbol}", unit, None if suffix in ("min", "max") else "positive"
        )
        for suffix, (words, unit) in statistics.items()
    }
