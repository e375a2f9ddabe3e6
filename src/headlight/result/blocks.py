"""Arithmetic of what blocks of a corpus move numbers by, along the first axis.

Source: Romano and Wolf (2005), "Stepwise multiple testing as formalized data snooping", of max-t.
"""

import numpy as np
from numpy.typing import NDArray

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
    rounding = 8 * np.finfo(np.float32).eps * (sizes[0] + sizes[1])
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
