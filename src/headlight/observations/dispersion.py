"""Dispersion of lengths: mean, σ and CV (Kobayashi et al. 2020, Table 1), and their replicates."""

from typing import Any

import numpy as np

from headlight.observations.variables import Variable, with_slots
from headlight.reduce.accumulator import Array

Replicates = tuple[Array, Array, Array]
"""A number, its values without each group of texts, and the weight of each group."""


def dispersion(name: str, by_variable: dict[str, Any], dims: tuple[str, ...]) -> dict[str, Any]:
    """Return mean, σ, CV = σ/mean, minimum and maximum (Kobayashi et al. 2020, Table 1)."""
    if name not in by_variable:
        return {}
    statistics = by_variable[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = statistics["std"] / statistics["mean"]
    variables: dict[str, Any] = {
        f"{name}_mean": (dims, statistics["mean"]),
        f"{name}_std": (dims, statistics["std"]),
        f"{name}_cv": (dims, variation),
        f"{name}_min": (dims, statistics["minimum"]),
        f"{name}_max": (dims, statistics["maximum"]),
    }
    sums = by_variable[f"slots_{name}_powers"]
    replicates = summarise_lengths(name, (sums["mean"], sums["without"], sums["whole"]))
    for statistic, replicate in replicates.items():
        slots = dict(zip(("mean", "without", "whole"), replicate, strict=True))
        value = variables[statistic][1]
        variables |= with_slots(statistic, dims, value, {**slots, "units": sums["units"]})
    return variables


def summarise_lengths(name: str, powers: Replicates) -> dict[str, Replicates]:
    """Return mean, σ and CV; those of ``input_norm`` have no axis of heads.

    Args:
        name: Name of the length, ``vector_norm`` or ``input_norm``.
        powers: Means of lengths and of their squares along the last axis.
    """
    mean, squares = part(powers, 0), part(powers, 1)
    if name == "input_norm":
        mean, squares = part(mean, 0), part(squares, 0)
    std = standard_deviations(mean, squares)
    cv = _quotient(std[0], mean[0]), _quotient(std[1], mean[1]), mean[2]
    return {f"{name}_mean": mean, f"{name}_std": std, f"{name}_cv": cv}


def part(replicates: Replicates, at: int | slice) -> Replicates:
    """Return a part along the last axis."""
    value, without, whole = replicates
    return value[..., at], without[..., at], whole[..., at]


def standard_deviations(mean: Replicates, squares: Replicates) -> Replicates:
    """Compute standard deviations from the means of numbers and of their squares."""
    value, without = (
        # Rounding may leave the variance of equal numbers just below 0.
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
