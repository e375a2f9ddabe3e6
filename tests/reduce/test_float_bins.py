"""Codes of numbers against the order of the numbers."""

import numpy as np
import pytest
from hypothesis import given, strategies
from hypothesis.extra.numpy import arrays

from headlight.reduce.rank import RESOLUTIONS, FloatBins

GRIDS = [
    grid for resolution in RESOLUTIONS.values() for grid in (resolution.first, resolution.second)
]
positive = strategies.floats(0, allow_nan=False, width=32).map(abs)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
@given(values=arrays(np.float32, 30, elements=positive))
def test_codes_keep_the_order_of_numbers(grid: FloatBins, values: np.ndarray) -> None:
    values.sort()
    codes = grid.codes(values)
    assert (np.diff(codes) >= 0).all()
    assert codes.max() < grid.bins * grid.places
    np.testing.assert_array_equal(codes < grid.places, values == 0)


@pytest.mark.parametrize("grid", GRIDS)
def test_codes_leave_no_gap_where_pieces_meet(grid: FloatBins) -> None:
    """One step of a float32 is at most one code, but from zero to the first bin."""
    for start, _ in grid.widths[1:]:
        bits = np.float32(start).view(np.int32) + np.arange(-3, 4, dtype=np.int32)
        steps = np.diff(grid.codes(bits.view(np.float32)))
        assert (steps >= 0).all()
        assert steps.max() == 1
        assert steps[2] == 1  # the number itself begins a code
    denormals = np.array([0, 1e-45, 2.0**-149 * 2, np.inf], dtype=np.float32)
    assert grid.codes(denormals)[:2].tolist() == [grid.places - 1, grid.places]
    assert grid.codes(denormals)[-1] >> grid.place_bits == grid.bins - 1


def test_bins_are_as_many_to_the_octave_as_asked() -> None:
    grid = FloatBins(((0, -1), (2**-4, 2), (2, -1)), place_bits=3)
    numbers = np.array([2**-4, 2**-3, 2**-2, 2, 8, 32], dtype=np.float32)
    assert np.diff(grid.codes(numbers)).tolist() == [4 * 8, 4 * 8, 3 * 4 * 8, 8, 8]
    assert np.diff(grid.codes(np.array([2.0**-100, 2.0**-98], dtype=np.float32))).tolist() == [8]
