"""Intervals of studies, against corpora from which each text is really left out."""

import numpy as np
import xarray as xr

from headlight.result.estimate import estimate_of


def agrees(result: xr.Dataset, name: str, parts: np.ndarray, wholes: np.ndarray) -> None:
    """Compare a ratio of sums over at most 32 texts with what it is without each of them.

    Args:
        result: of a study over these texts.
        name: of the ratio.
        parts: ``[text, ...]``, the numerators; NaN where a text has none.
        wholes: ``[text, ...]``, the denominators.
    """
    wholes = np.where(np.isnan(parts), 0, wholes + 0 * parts)
    parts = np.where(np.isnan(parts), 0, parts)
    assert len(parts) <= 32
    with np.errstate(invalid="ignore", divide="ignore"):
        _compare(result, name, parts, wholes)


def _compare(result: xr.Dataset, name: str, parts: np.ndarray, wholes: np.ndarray) -> None:
    value = parts.sum(0) / wholes.sum(0)
    share = wholes / wholes.sum(0)
    left = 1 - (share**2).sum(0)
    squares = 0
    for text in range(len(parts)):
        rest = np.arange(len(parts)) != text
        without = parts[rest].sum(0) / wholes[rest].sum(0)
        squares = squares + ((1 - share[text]) * (without - value)) ** 2 / left
    estimate = estimate_of(result, name)
    assert estimate is not None
    np.testing.assert_allclose(estimate.value, value, rtol=2e-4, atol=2e-6)
    squares = np.where(wholes.sum(0) > 0, squares, 0)
    moved = np.sqrt(np.nansum(estimate.moved**2, axis=0))
    several = np.isfinite(squares)  # what one text alone has is nothing without it
    np.testing.assert_allclose(moved[several], np.sqrt(squares)[several], rtol=2e-3, atol=2e-6)
    np.testing.assert_allclose(estimate.freedom, 1 / (share**2).sum(0) - 1, rtol=1e-5)
    assert (estimate.filled == (wholes > 0).sum(0))[several].all()
    assert (estimate.units == (np.arange(32) < len(parts))).all()
