"""Coordinates of a result along its slots, blocks added together, and ends of intervals.

Source: Romano and Wolf (2005), "Stepwise multiple testing as formalized data snooping", of max-t.

Source: of shares Wilson (1927), "Probable inference, the law of succession, and statistical
inference", with the effective size of Korn and Graubard (1998).
"""

from typing import Any, overload

import numpy as np
import xarray
from numpy.typing import NDArray

MOVED, WEIGHTS, UNITS = "_by_slot", "_slot_weights", "slot_units"
"""Ends of the coordinates that intervals are computed from; and the units of each slot."""

FEWEST_SLOTS = 5
"""Slots that must hold something of a number, or move a difference, for it to have an interval."""

FEWEST_UNBOUNDED = 10
"""Slots that a number without an upper bound must have for an interval; few say little of it."""

FEWEST_TESTED, FEWEST_FILLED = 20, 16
"""Units, and slots that hold them, from which on many numbers may be tested at once."""

ROUNDING = 8 * float(np.finfo(np.float32).eps)
"""Numbers that differ by a smaller part of their sizes are the same: measures are of float32."""


def slot_coordinates(result: xarray.Dataset) -> list[str]:
    """Return the names of the coordinates that intervals are computed from."""
    names = map(str, result.variables)
    return [each for each in names if each == UNITS or each.endswith((MOVED, WEIGHTS))]


def slots_of(
    result: xarray.Dataset, name: str, dims: tuple[str, ...] | None, at: dict[str, int]
) -> tuple[Any, Any, Any, Any, Any]:
    """Return a number, what blocks move it by, its weights, their units, and its scale.

    Args:
        result: of any study, or a part of one.
        name: of the variable.
        dims: its axes, in this order; all by default.
        at: places along its other axes.
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


LEVEL = 0.95
SIGNS = 1000
"""Draws of random signs by which the largest of many is judged."""

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def added(each: Array, times: int) -> Array:
    """Return sums over as many neighbouring slots, a power of two; the last slots are empty."""
    for _ in range(times.bit_length() - 1):
        pairs = each[0::2] + each[1::2]
        each = np.concatenate([pairs, np.zeros_like(pairs)])
    return each


def coarser(moved: Array, weights: Array, times: int) -> tuple[Array, Array]:
    """Return what longer blocks move numbers by, and their weights.

    Args:
        moved: ``[slot, *cell]``.
        weights: of the same shape.
        times: how many blocks become one.
    """
    sums = added(np.nan_to_num(weights), times)
    with np.errstate(all="ignore"):
        scale = np.sqrt((1 - (weights**2).sum(0)) / (1 - (sums**2).sum(0)))
    return np.where(sums > 0, added(np.nan_to_num(moved), times) * scale, np.nan), sums


def slots_apart(*numbers: tuple[Array, Array, Array]) -> Counts:
    """Return in how many slots two numbers are not the same, up to the rounding of float32.

    Args:
        numbers: of each the value, what blocks move it by, and their weights.
    """
    parts, sizes = [], []
    for value, moved, weights in numbers:
        spread = np.sqrt(np.maximum(1 - np.nansum(weights**2, axis=0), 0))
        mean, own = weights * value, spread * np.nan_to_num(moved)
        parts.append(np.nan_to_num(mean) - own)
        sizes.append(np.nan_to_num(np.abs(mean)) + np.abs(own))
    rounding = ROUNDING * (sizes[0] + sizes[1])
    return np.asarray((np.abs(parts[0] - parts[1]) > rounding).sum(0))


def cross_fit(value: Array, moved: Array, weights: Array) -> tuple[Array, Array, int] | None:
    """Return the largest number, chosen on one half of the slots and estimated on the other.

    Args:
        value: ``[number]``.
        moved: ``[slot, number]``.
        weights: of the same shape.

    Returns:
        The mean of both ways round, what each block moves it by, and the place of the number that
        the even slots choose; None where one half holds nothing.
    """
    p, u = np.nan_to_num(weights), np.nan_to_num(moved)
    spread = np.sqrt(np.maximum(1 - (p**2).sum(0), 0))
    halves = [np.arange(len(p)) % 2 == half for half in (0, 1)]
    with np.errstate(all="ignore"):
        values = [value - spread * u[h].sum(0) / p[h].sum(0) for h in halves]
    if not all(np.isfinite(each).any() for each in values):
        return None
    chosen = [int(np.nanargmax(each)) for each in values]
    by_slot = np.full(len(p), np.nan)
    estimates = []
    for half, other in ((0, 1), (1, 0)):
        best, slots = chosen[half], halves[other]
        estimates.append(values[other][best])
        centre = (values[other][best] - value[best]) / spread[best]
        by_slot[slots] = (moved[:, best] + p[:, best] * centre)[slots]
    return np.asarray(np.mean(estimates)), by_slot, chosen[0]


def largest_t(units: Array, *, two_sided: bool = True) -> float:
    """Return what the largest |t| of many numbers stays below in 95% of corpora (max-t).

    Args:
        units: ``[slot, number]``, what blocks move each by, in its standard errors.
        two_sided: whether numbers may be too small as well.
    """
    units = units[units.any(1)]
    slots = len(units)
    if not slots:
        return np.inf
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (SIGNS, slots))
    z = signs @ units
    z /= np.sqrt(np.maximum(1 - z**2 / slots, 1e-12) * slots / max(slots - 1, 1))
    return float(np.quantile((np.abs(z) if two_sided else z).max(1), LEVEL))


@overload
def decided(value: float, low: float, high: float, other: float) -> str: ...


@overload
def decided(value: Array, low: Array, high: Array, other: Array | float) -> NDArray[Any]: ...


def decided(
    value: Array | float, low: Array | float, high: Array | float, other: Array | float
) -> NDArray[Any] | str:
    """Return whether numbers are ``above`` or ``below`` others, or their intervals reach these.

    Args:
        value: a number, or an array of them.
        low: the lower ends of their intervals.
        high: the upper ends.
        other: what they are compared with.

    Returns:
        ``above``, ``below``, or ``inconclusive``, also where there is no interval, or no number.
    """
    is_known = np.isfinite(low) & np.isfinite(high)
    above = is_known & (np.minimum(value, low) > other)
    below = is_known & (np.maximum(value, high) < other)
    verdict: NDArray[Any] | str = np.select([above, below], ["above", "below"], "inconclusive")[()]
    return verdict


def chosen_ends(
    value: Array, low: Array, high: Array, *, candidates: int, units: int
) -> tuple[Any, Any]:
    """Return the ends of the interval of a number that was chosen among several on the same data.

    The largest of many is too large by chance.  Intervals of 95% are moved apart to the width at
    which all candidates together lie in theirs in 95% of samples (Bonferroni, by Student's t), so
    that the ends hold whichever was chosen.

    Args:
        value: the chosen number, or an array of them.
        low: the lower end of its interval of 95%.
        high: the upper end.
        candidates: among how many it was chosen, such as heads times directions.
        units: texts, sentences or documents; below 2 the ends are NaN.

    Source: Dunn (1961), "Multiple comparisons among means".
    """
    from scipy.stats import t

    freedom = units - 1 if units > 1 else np.nan
    wider = t.ppf(1 - 0.025 / max(candidates, 1), freedom) / t.ppf(0.975, freedom)
    return value - wider * (value - low), value + wider * (high - value)


def average(values: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the mean of what was observed; NaN, without a warning, where nothing was."""
    observed = np.isfinite(values)
    count = observed.sum(axis=axis)
    total = np.where(observed, values, 0.0).sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan), dtype=np.float64)


def _share_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    """Return Wilson's ends with the effective size; of 0 and 1 with the number of units."""
    rate = np.clip(value, 0, 1)
    spread = rate * (1 - rate)
    inside = (rate > 0) & (rate < 1)
    # q / ν, where ν = T (1 - T) / V: nothing but the half width where it is wanted.
    inverse = np.where(inside, half**2 / np.where(inside, spread, 1), t**2 / units + 0 * half)
    middle = (rate + inverse / 2) / (1 + inverse)
    around = np.sqrt(spread * inverse + inverse**2 / 4) / (1 + inverse)
    return np.asarray(np.maximum(middle - around, 0)), np.asarray(np.minimum(middle + around, 1))


def _correlation_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    inside = np.abs(value) < 1
    within = np.where(inside, value, 0)
    z, apart = np.arctanh(within), half / (1 - within**2)
    return (
        np.where(inside, np.tanh(z - apart), np.clip(value - half, -1, 1)),
        np.where(inside, np.tanh(z + apart), np.clip(value + half, -1, 1)),
    )


def _positive_ends(value: Array, half: Array, t: Array, units: Array) -> tuple[Array, Array]:
    above = value > 0
    ratio = half / np.where(above, value, 1)
    low, high = value * np.exp(-ratio), value * np.exp(ratio)
    return np.where(above, low, np.maximum(value - half, 0)), np.where(above, high, value + half)


SCALED_ENDS = {"share": _share_ends, "correlation": _correlation_ends, "positive": _positive_ends}
"""Functions of numbers, half widths of plain intervals, quantiles of t and units: both ends."""
