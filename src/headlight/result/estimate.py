"""Numbers over a corpus with the effects of blocks of the corpus: intervals and differences.

A result keeps with a number, as coordinates along ``slot``, the effect of each of 32 contiguous
blocks of documents or texts on it (``NAME_by_slot``), and the weight of each block
(``NAME_slot_weights``; without an axis along which all numbers have the same weights).  All else is
computed on request: the delete-a-group jackknife with Student's t, on the scale of the number.

Source: Shao and Tu (1995), "The Jackknife and Bootstrap", Section 2.3.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from headlight.result.intervals import (
    FEWEST_FILLED,
    FEWEST_SLOTS,
    FEWEST_TESTED,
    FEWEST_UNBOUNDED,
    LEVEL as LEVEL,
    SCALED_ENDS,
    chosen_ends,
    decided as decided,
    largest_t,
)
from headlight.result.slot_coordinates import (
    MOVED as MOVED,
    ROUNDING,
    UNITS as UNITS,
    WEIGHTS as WEIGHTS,
    Array,
    Counts,
    added,
    slot_coordinates as slot_coordinates,
    slots_of,
)
from headlight.vocabulary import FEWEST_FREEDOM


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Numbers of one shape over a corpus, with their uncertainty.

    Attributes:
        value: Numbers, ``[*cell]``; NaN where nothing was observed.
        moved: Effects of the blocks of the corpus on the numbers, ``[slot, *cell]``: the squares
            add up to the squared standard error; NaN for an empty slot of a number.
        weights: Shares of the number's denominator in the slots, ``[slot, *cell]``.
        units: Numbers of documents or texts in the slots, ``[slot]``.
        scale: Scale of the numbers, or of each cell: ``share``, ``correlation``, ``positive``,
            ``signed`` or ``difference``.
        freedom: Degrees of freedom of the error, ``[*cell]``.
        ends: Ends of 95% intervals from another source, such as seeds, if nothing else is known of
            the error.
        differing: Number of slots in which the two operands of a difference are not the same.
    """

    value: Array
    moved: Array
    weights: Array
    units: Array
    scale: Any
    freedom: Array
    ends: tuple[Array, Array] | None = None
    differing: Counts | None = None

    @staticmethod
    def of_slots(value: Any, moved: Any, weights: Any, units: Any, scale: Any) -> "Estimate":
        """Return the estimate of numbers from their slots in a result; weights have any sum."""
        value = np.asarray(value, dtype=np.float64)
        sizes = np.broadcast_to(np.asarray(weights, dtype=np.float64), np.shape(moved))
        total = np.asarray(sizes.sum(0))
        share = sizes / np.where(total > 0, total, np.nan)
        with np.errstate(divide="ignore"):
            freedom = np.asarray(1 / (share**2).sum(0) - 1)
        empty = np.where(sizes > 0, np.asarray(moved, dtype=np.float64), np.nan)
        scales = np.broadcast_to(np.asarray(scale), value.shape)
        return Estimate(value, empty, share, np.asarray(units), scales, freedom)

    @staticmethod
    def with_ends(value: Any, low: Any = np.nan, high: Any = np.nan) -> "Estimate":
        """Return numbers whose error is known only by the ends of their 95% intervals, if any."""
        value = np.asarray(value, dtype=np.float64)
        low, high = (np.broadcast_to(end, value.shape).astype(np.float64) for end in (low, high))
        nothing = np.zeros((0, *value.shape))
        scales = np.broadcast_to(np.asarray("signed"), value.shape)
        freedom = np.full(value.shape, np.nan)
        return Estimate(value, nothing, nothing, np.zeros(0), scales, freedom, (low, high))

    @staticmethod
    def joined(numbers: Sequence["Estimate"]) -> "Estimate":
        """Join numbers of one corpus, of any shapes, along one axis."""
        if not numbers or any(number.ends is not None for number in numbers):
            parts = (
                [getattr(number, name).ravel() for number in numbers]
                for name in ("value", "low", "high")
            )
            return Estimate.with_ends(*(np.concatenate([*part, np.zeros(0)]) for part in parts))
        return Estimate(
            np.concatenate([number.value.ravel() for number in numbers]),
            np.concatenate([number.moved.reshape(len(number.units), -1) for number in numbers], 1),
            np.concatenate(
                [number.weights.reshape(len(number.units), -1) for number in numbers], 1
            ),
            numbers[0].units,
            np.concatenate([np.ravel(number.scale) for number in numbers]),
            np.concatenate([number.freedom.ravel() for number in numbers]),
        )

    def __format__(self, form: str) -> str:
        """Write one number: ``0.36 (0.32 to 0.40)``; without an interval the number alone."""
        if np.isnan(self.value):
            return "not measured"
        low, high = map(float, self.interval())
        has_ends = np.isfinite(low + high) and not isclose(low, high, rel_tol=ROUNDING)
        ends = f" ({low:{form}} to {high:{form}})" if has_ends else ""
        return f"{float(self.value):{form}}{ends}".replace("-", "\u2212")

    @property
    def low(self) -> Array:
        """Return the lower ends of the 95% intervals; NaN where there is none."""
        return self.interval()[0]

    @property
    def high(self) -> Array:
        """Return the upper ends of the 95% intervals."""
        return self.interval()[1]

    @property
    def error(self) -> Array:
        """Return the standard error; NaN where it is not known, see `interval`."""
        counted = self.filled if self.differing is None else self.differing
        unbounded = np.isin(self.scale, ("positive", "signed"))
        fewest = np.where(unbounded, FEWEST_UNBOUNDED, FEWEST_SLOTS)
        is_known = (counted >= fewest) & (self.freedom >= FEWEST_FREEDOM)
        return np.where(is_known, np.sqrt(np.nansum(self.moved**2, axis=0)), np.nan)

    @property
    def known(self) -> bool:
        """Return whether any number has an interval."""
        return bool(np.isfinite(self.low + self.high).any())

    @property
    def filled(self) -> NDArray[np.int64]:
        """Return the number of filled slots of each number."""
        return np.asarray(np.isfinite(self.moved).sum(0))

    @property
    def units_of(self) -> Array:
        """Return the number of documents or texts in the filled slots of each number."""
        return np.asarray(np.tensordot(self.units, np.isfinite(self.moved).astype(float), 1))

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Return whether p-values of many numbers may be adjusted, as by Benjamini and Hochberg."""
        return np.asarray((self.units_of >= FEWEST_TESTED) & (self.filled >= FEWEST_FILLED))

    def interval(self, level: float = LEVEL) -> tuple[Array, Array]:
        """Return the ends of the intervals, which hold the numbers of this share of corpora.

        A share has Wilson's ends with its effective size, a correlation those of Fisher's z, a
        positive number those of its logarithm, and others a multiple of the error to either side.
        NaN where fewer than `FEWEST_SLOTS` slots are filled (`FEWEST_UNBOUNDED` for a number
        without an upper bound), or differ between the operands of a difference, or where there are
        fewer than `FEWEST_FREEDOM` degrees of freedom.
        """
        from scipy.special import stdtrit

        return self._interval(np.asarray(stdtrit(self.freedom, (1 + level) / 2)))

    def simultaneous(self, units: int) -> "Estimate":
        """Return the same numbers with ends that hold for all of them in 95% of corpora.

        So they hold for a number that was chosen, such as the largest.  The method is max-t, see
        `critical`; for numbers with known ends alone it is Bonferroni's, see `chosen_ends`.

        Args:
            units: Number of texts or documents, for numbers with known ends alone.
        """
        if self.ends is None:
            ends = self._interval(np.where(np.isfinite(self.freedom), self.critical(), np.nan))
        else:
            observed_count = int(np.isfinite(self.value).sum())
            ends = chosen_ends(self.value, *self.ends, candidates=observed_count, units=units)
        return Estimate.with_ends(self.value, *ends)

    def _interval(self, t: Array) -> tuple[Array, Array]:
        """Return the ends that are this many errors from the numbers, on their scale."""
        if self.ends is not None:
            return self.ends
        value, error = self.value, self.error
        with np.errstate(all="ignore"):
            half = np.asarray(t * error)
            low, high = value - half, value + half
            for kind, ends in SCALED_ENDS.items():
                is_kind = self.scale == kind
                if np.any(is_kind):
                    below, above = ends(value, half, t, self.units_of)
                    low, high = np.where(is_kind, below, low), np.where(is_kind, above, high)
        return np.asarray(low), np.asarray(high)

    def p_value(self) -> Array:
        """Return the two-sided p-values of the hypothesis that a number is 0; NaN if unknown."""
        from scipy.special import stdtr

        apart = np.abs(self.value)
        with np.errstate(all="ignore"):
            error = self.error
            p = 2 * stdtr(self.freedom, -apart / np.where(error > 0, error, np.nan))
        return np.asarray(np.where(apart == 0, 1.0, p))

    def at(self, place: Any) -> "Estimate":
        """Return the estimate of a part of the numbers, or of one."""
        places = place if isinstance(place, tuple) else (place,)
        inner = (slice(None), *places)
        ends = self.ends and (np.asarray(self.ends[0][place]), np.asarray(self.ends[1][place]))
        return Estimate(
            np.asarray(self.value[place]),
            self.moved[inner],
            self.weights[inner],
            self.units,
            np.asarray(self.scale[place]),
            np.asarray(self.freedom[place]),
            ends,
            None if self.differing is None else np.asarray(self.differing[place]),
        )

    def mean(self, axis: int | tuple[int, ...] | None = None) -> "Estimate":
        """Return the mean over all observed numbers."""
        if self.ends is not None:
            parts = (self.value, *self.ends)
            return Estimate.with_ends(*(average(part, axis) for part in parts))
        axes = tuple(range(self.value.ndim)) if axis is None else np.atleast_1d(axis)
        axes = tuple(int(number) % max(self.value.ndim, 1) for number in axes)
        inner = tuple(number + 1 for number in axes)  # slots are the first axis of `moved`
        observed = np.isfinite(self.value)
        moved = np.where(observed & np.isfinite(self.moved), self.moved, 0).sum(inner)
        count = np.maximum(observed.sum(axes), 1)
        filled = (observed & np.isfinite(self.moved)).any(inner)
        weights = np.where(observed, np.nan_to_num(self.weights), 0).sum(inner) / count
        freedom = np.where(observed, self.freedom, np.inf).min(axes, initial=np.inf)
        return Estimate(
            average(self.value, axes),
            np.where(filled, moved / count, np.nan),
            weights,
            self.units,
            np.asarray(
                self.scale[tuple(0 if n in axes else slice(None) for n in range(self.value.ndim))]
            ),
            np.asarray(np.where(np.isfinite(freedom), freedom, np.nan)),
            None,
            None
            if self.differing is None
            else np.asarray(np.where(observed, self.differing, 0).max(axes)),
        )

    def minus(self, other: "Estimate", *, paired: bool = True) -> "Estimate":
        """Return the difference, whose interval is smaller where the two move alike.

        If one of them has ends alone, the difference goes from the lower end of the first less the
        upper end of the second to the opposite: as wide as it has to be, or wider.

        Args:
            other: Estimate of the same shape, or of one number.
            paired: Whether both are of one corpus, or of corpora cut into blocks alike, of which
                one may be the beginning of the other; otherwise their errors are independent.
        """
        value = self.value - other.value
        rounding = ROUNDING * (np.abs(self.value) + np.abs(other.value))
        value = np.asarray(np.where(np.abs(value) <= rounding, 0.0, value))
        if self.ends is not None or other.ends is not None:
            return Estimate.with_ends(value, self.low - other.high, self.high - other.low)
        left, right = (
            operand if operand.value.ndim else operand.at((None,) * value.ndim)
            for operand in (self, other)
        )
        if not paired:
            return left._independent(right, value)
        # A longer corpus is cut into longer blocks; shorter blocks are joined to as long ones.
        size = max(left.units[0], right.units[0])
        left, right = left._coarser(size), right._coarser(size)
        moved = np.nan_to_num(left.moved) - np.nan_to_num(right.moved)
        filled = np.isfinite(left.moved) | np.isfinite(right.moved)
        less = left.freedom <= right.freedom
        return Estimate(
            value,
            np.where(filled, moved, np.nan),
            np.where(less, left.weights, right.weights),
            np.maximum(left.units, right.units),
            np.broadcast_to(np.asarray("difference"), value.shape),
            np.asarray(np.where(less, left.freedom, right.freedom)),
            differing=slots_apart(
                *((operand.value, operand.moved, operand.weights) for operand in (left, right))
            ),
        )

    def _independent(self, other: "Estimate", value: Array) -> "Estimate":
        """Return a difference with the errors of both and Welch's degrees of freedom."""
        shape = (len(self.moved), *value.shape)
        both = [np.broadcast_to(operand.moved, shape) for operand in (self, other)]
        left, right = (np.nansum(moved**2, axis=0) for moved in both)
        with np.errstate(all="ignore"):
            freedom = (left + right) ** 2 / (left**2 / self.freedom + right**2 / other.freedom)
        weights = [np.broadcast_to(operand.weights, shape) / 2 for operand in (self, other)]
        return Estimate(
            value,
            np.concatenate([both[0], -both[1]]),
            np.concatenate(weights),
            np.concatenate([self.units, other.units]),
            np.broadcast_to(np.asarray("difference"), value.shape),
            np.asarray(freedom),
        )

    def _coarser(self, size: float) -> "Estimate":
        """Return the same estimate with blocks of this many units."""
        times = int(size // max(self.units[0], 1)) if len(self.units) else 1
        if times <= 1:
            return self
        moved, weights = coarser(self.moved, self.weights, times)
        with np.errstate(all="ignore"):
            freedom = np.asarray(1 / (weights**2).sum(0) - 1)
        units = added(np.nan_to_num(self.units), times)
        return replace(self, moved=moved, weights=weights, units=units, freedom=freedom)

    def times(self, factor: Any) -> "Estimate":
        """Return a multiple; only numbers that stay positive keep the bounds of their interval."""
        if self.ends is not None:
            low, high = (np.asarray(end * factor) for end in self.ends)
            ends = np.minimum(low, high), np.maximum(low, high)
            return Estimate.with_ends(self.value * factor, *ends)
        value = np.asarray(self.value * factor)
        keeps = (self.scale == "difference") | (self.scale == "positive") & (np.asarray(factor) > 0)
        bounded = np.isin(self.scale, ("share", "correlation"))
        scale = np.where(keeps, self.scale, np.where(bounded, "difference", "signed"))
        return replace(self, value=value, moved=self.moved * factor, scale=scale)

    def first(self) -> tuple[int, ...] | None:
        """Return the place of the largest value; None where nothing was observed."""
        if not np.isfinite(self.value).any():
            return None
        return tuple(map(int, np.unravel_index(np.nanargmax(self.value), self.value.shape)))

    def compared(self, other: float) -> NDArray[Any]:
        """Return the verdict `against` a number; without any interval, compare the values alone."""
        if self.known:
            verdict = self.against(other)
        else:
            verdict = np.where(self.value > other, "above", "below")
        return np.where(np.isfinite(self.value), verdict, "")

    def against(self, other: "Estimate | float") -> NDArray[Any]:
        """Return `decided` of each number; without an interval the result is inconclusive."""
        apart = self.minus(other) if isinstance(other, Estimate) else self
        bound = 0.0 if isinstance(other, Estimate) else other
        return np.asarray(decided(apart.value, apart.low, apart.high, bound))

    def rivals(self) -> list[tuple[int, ...]]:
        """Return the places of `ties` but the first, the next largest first."""
        first = self.first()
        flat = np.where(self.ties(), self.value, np.nan).ravel()
        order = np.argsort(-flat, kind="stable")[: int(np.isfinite(flat).sum())]
        places = [tuple(map(int, np.unravel_index(at, self.value.shape))) for at in order]
        return [place for place in places if place != first]

    def ties(self) -> NDArray[Any]:
        """Return which numbers may be the largest, with the largest itself.

        Together they include the truly largest in 95% of corpora: a number is excluded if it is
        further below the first than the furthest of all differences would be by chance (max-t, by
        random signs).  A number whose difference has no interval may be the largest; if the first
        itself has no interval, it is returned alone.
        """
        first, alone = self.first(), np.zeros(self.value.shape, dtype=bool)
        if first is None:
            return alone
        alone[first] = True
        observed = np.isfinite(self.value)
        low, high = self.interval()
        if not np.isfinite(low[first] + high[first]):
            return alone
        if self.ends is not None:
            return np.asarray(observed & ~(high < low[first]))
        apart = self.minus(self.at(first))
        with np.errstate(all="ignore"):
            z = apart.value / apart.error
        return np.asarray(observed & ~(z < -apart.critical(two_sided=False)))

    def critical(self, *, two_sided: bool = True) -> float:
        """Return the bound below which the largest |t| of these numbers stays in 95% of corpora."""
        with np.errstate(all="ignore"):
            unit = np.nan_to_num(self.moved / self.error).reshape(len(self.moved), -1)
        has_error = np.isfinite(self.error).ravel() & (self.error.ravel() > 0)
        return largest_t(unit[:, has_error], two_sided=two_sided)

    def largest(self) -> "Estimate":
        """Return the largest number without the bias of its choice, by cross-fitting.

        It is chosen on the even slots and estimated on the odd ones, and the other way round; the
        value is the mean of both.
        """
        flat = self.at(np.isfinite(self.value))
        if self.ends is not None or not flat.value.size:
            return self.at(self.first() or (0,) * self.value.ndim)
        fitted = cross_fit(flat.value, flat.moved, flat.weights)
        if fitted is None:
            return self.at(self.first())
        value, moved, place = fitted
        return replace(flat.at(place), value=value, moved=moved)


def estimate_of(
    result: xarray.Dataset,
    name: str,
    dims: tuple[str, ...] | None = None,
    places: Mapping[str, int] | None = None,
) -> Estimate | None:
    """Return the estimate of a number of a result; None where no slots are kept for it.

    Args:
        result: Result of any study, or a part of one.
        name: Name of the variable.
        dims: Axes of the estimate, in this order; by default all of the variable.
        places: Places along the other axes of the variable.
    """
    if f"{name}{MOVED}" not in result.variables:
        return None
    return Estimate.of_slots(*slots_of(result, name, dims, dict(places or {})))


def with_ends(
    result: xarray.Dataset, name: str, dims_kept: Collection[str] | None = None
) -> xarray.Dataset:
    """Return the result with the ends of a 95% interval as variables, ``_low`` and ``_high``.

    Args:
        result: Result of any study; without slots of the number it is returned as it is.
        name: Name of the number.
        dims_kept: Axes of the ends; over all others the mean has the interval.  All by default.
    """
    dims = tuple(map(str, result.variables[name].dims)) if name in result.variables else ()
    estimate = estimate_of(result, name, dims)
    if estimate is None:
        return result
    over = tuple(n for n, dim in enumerate(dims) if dims_kept is not None and dim not in dims_kept)
    ends = (estimate.mean(over) if over else estimate).interval()
    axes = [dim for n, dim in enumerate(dims) if n not in over]
    attributes = result.variables[name].attrs
    meaning = f"end of the 95% interval of {attributes.get('long_name', name)}"
    return result.assign(
        {
            f"{name}_{side}": (axes, end, {**attributes, "long_name": f"{side} {meaning}"})
            for side, end in zip(("low", "high"), ends, strict=True)
        }
    )


def coarser(moved: Array, weights: Array, times: int) -> tuple[Array, Array]:
    """Return the effects of longer blocks on numbers, and the weights of these blocks.

    Args:
        moved: Effects of blocks, ``[slot, *cell]``.
        weights: Weights of blocks, of the same shape.
        times: Number of blocks that become one.
    """
    sums = added(np.nan_to_num(weights), times)
    with np.errstate(all="ignore"):
        scale = np.sqrt((1 - (weights**2).sum(0)) / (1 - (sums**2).sum(0)))
    return np.where(sums > 0, added(np.nan_to_num(moved), times) * scale, np.nan), sums


def slots_apart(*numbers: tuple[Array, Array, Array]) -> Counts:
    """Return the number of slots in which two numbers differ, up to the rounding of float32.

    Args:
        numbers: Value, effects of blocks, and weights of blocks of each number.
    """
    parts, sizes = [], []
    for value, moved, weights in numbers:
        spread = np.sqrt(np.maximum(1 - np.nansum(weights**2, axis=0), 0))
        mean, effect = weights * value, spread * np.nan_to_num(moved)
        parts.append(np.nan_to_num(mean) - effect)
        sizes.append(np.nan_to_num(np.abs(mean)) + np.abs(effect))
    rounding = ROUNDING * (sizes[0] + sizes[1])
    return np.asarray((np.abs(parts[0] - parts[1]) > rounding).sum(0))


def cross_fit(value: Array, moved: Array, weights: Array) -> tuple[Array, Array, int] | None:
    """Return the largest number, chosen on one half of the slots and estimated on the other.

    Args:
        value: Values, ``[number]``.
        moved: Effects of blocks, ``[slot, number]``.
        weights: Weights of blocks, of the same shape.

    Returns:
        The mean of both ways round, the effects of blocks on it, and the place of the number that
        the even slots choose; None where one half is empty.
    """
    p, u = np.nan_to_num(weights), np.nan_to_num(moved)
    spread = np.sqrt(np.maximum(1 - (p**2).sum(0), 0))
    halves = [np.arange(len(p)) % 2 == half for half in (0, 1)]
    with np.errstate(all="ignore"):
        values = [value - spread * u[h].sum(0) / p[h].sum(0) for h in halves]
    if not all(np.isfinite(estimates).any() for estimates in values):
        return None
    chosen = [int(np.nanargmax(estimates)) for estimates in values]
    by_slot = np.full(len(p), np.nan)
    estimates = []
    for half, other in ((0, 1), (1, 0)):
        best, slots = chosen[half], halves[other]
        estimates.append(values[other][best])
        centre = (values[other][best] - value[best]) / spread[best]
        by_slot[slots] = (moved[:, best] + p[:, best] * centre)[slots]
    return np.asarray(np.mean(estimates)), by_slot, chosen[0]


def average(values: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the mean of observed values; NaN, without a warning, where there are none."""
    observed = np.isfinite(values)
    count = observed.sum(axis=axis)
    total = np.where(observed, values, 0.0).sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan), dtype=np.float64)
