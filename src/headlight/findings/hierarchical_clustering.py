"""Hierarchical clustering: a tree of heads by how far apart they attend."""

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.errors import UsageError
from headlight.findings.distance_matrix import import_optional_dependency, square_matrix


def tree(distances: xarray.DataArray) -> Float64[np.ndarray, "merge 4"]:
    """Heads joined two by two, the nearest first, by average linkage.

    Args:
        distances: those of one measure, as for `embedding`; two heads at least.

    Returns:
        what `scipy.cluster.hierarchy.dendrogram` draws: the two parts of each merge, their
        distance, and the number of heads in it.  Leaves are numbered as along ``first``; neighbours
        in the drawing are as near as the tree allows.

    Raises:
        UsageError: distances of several measures, fewer than two heads, or some are missing; or
            scipy is.
    """
    square = square_matrix(distances)
    if len(square) < 2:
        raise UsageError("a tree needs two heads at least.")
    hierarchy = import_optional_dependency("scipy.cluster.hierarchy", "scipy")
    upper = square[np.triu_indices(len(square), 1)]
    joined: Float64[np.ndarray, "merge 4"] = hierarchy.linkage(
        upper, method="average", optimal_ordering=True
    )
    return joined
