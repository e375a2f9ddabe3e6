"""Sums over the tokens of each segment of a text."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

FIRST_TOKEN = "first token"
"""Name of the first token of a decoder, counted apart: heads attend to it for want of others."""


def segment_sums(
    values: Sequence[float] | NDArray[np.float64], segments: Sequence[str], first: int | None
) -> dict[str, float]:
    """Return sums of values of tokens by named segment, in the order of the text.

    Args:
        values: Value of each token.
        segments: Named segment of each token.
        first: Place of the first token, where that is counted apart.
    """
    sums: dict[str, float] = {}
    for at, (value, name) in enumerate(zip(values, segments, strict=True)):
        key = FIRST_TOKEN if at == first else str(name)
        sums[key] = sums.get(key, 0.0) + float(value)
    return sums


def sums_of(result: xr.Dataset, values: NDArray[np.float64]) -> dict[str, float]:
    """Return the sums of a result of one text by segment; empty without named segments."""
    if "key_segment" not in result.coords:
        return {}
    first = 0 if result.attrs.get("kind") == "decoder" else None
    return segment_sums(values, result["key_segment"].values.tolist(), first)
