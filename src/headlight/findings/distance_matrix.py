"""Distances of heads as a square matrix, for the packages that place and group them."""

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.errors import UsageError

Square = Float64[np.ndarray, "first second"]


def square_matrix(distances: xarray.DataArray) -> Square:
    """Return the distances of one measure as an array.

    Raises:
        UsageError: The distances are by several measures, or some are missing.
    """
    if set(distances.dims) != {"first", "second"}:
        raise UsageError(
            f"distances have the dimensions {', '.join(map(str, distances.dims))}; select one "
            "measure first, for example distance.sel(measure='weight')."
        )
    square: Square = distances.transpose("first", "second").values.astype(np.float64)
    if not np.isfinite(square).all():
        raise UsageError("some of the distances are missing; heads without a distance have no map.")
    return square
