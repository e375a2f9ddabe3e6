"""Phrases that findings on classifiers share: where attention is replaced, accuracy, intervals."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import number, percent
from headlight.findings.thresholds import is_near_majority
from headlight.findings.variables import observed

WHERE = {
    "": "in all layers at once",
    "layer_": "in one layer, on average",
    "head_": "in one head, on average",
}


def accuracy_sentence(result: xr.Dataset) -> list[str]:
    """Return how good the model is, unless a caution has said that it is not."""
    accuracy = estimates(result, "own_accuracy", ())
    share, majority = float(accuracy.value), float(observed(result, "majority_accuracy", ()))
    if not np.isfinite(share) or is_near_majority(share, float(accuracy.low), majority):
        return []
    return [
        f"{percent(share)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def number_text(
    numbers: Estimate, place: tuple[int, ...], written: Callable[[float], str] = number
) -> str:
    """Return one number as text, with its interval."""
    estimate = numbers.at(place)
    return f"{written(float(estimate.value))}{around(estimate, written, share=written is percent)}"


def widest_scope(result: xr.Dataset, name: str) -> str:
    """Return the prefix of all layers at once, or of what there is."""
    return next(prefix for prefix in WHERE if f"{prefix}{name}" in result)
