"""Mean, σ and CV of lengths, as variables of a result."""

from typing import Any

import numpy as np


def dispersion(name: str, found: dict[str, Any], dims: tuple[str, ...]) -> dict[str, Any]:
    """Mean, σ, CV = σ/mean, smallest and largest (Kobayashi et al. 2020, Table 1)."""
    if name not in found:
        return {}
    statistics = found[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = statistics["std"] / statistics["mean"]
    return {
        f"{name}_mean": (dims, statistics["mean"]),
        f"{name}_std": (dims, statistics["std"]),
        f"{name}_cv": (dims, variation),
        f"{name}_min": (dims, statistics["minimum"]),
        f"{name}_max": (dims, statistics["maximum"]),
    }


def describe_dispersion(name: str, symbol: str) -> dict[str, tuple[str, str]]:
    """Long names and units of what `dispersion` makes."""
    statistics = {
        "mean": ("mean", ""),
        "std": ("standard deviation", ""),
        "cv": ("coefficient of variation", "1"),
        "min": ("smallest", ""),
        "max": ("largest", ""),
    }
    return {
        f"{name}_{suffix}": (f"{words} of {symbol}", unit)
        for suffix, (words, unit) in statistics.items()
    }
