"""Hierarchical clustering: a tree of heads by how far apart they attend."""

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.errors import UsageError
from headlight.findings.distance_matrix import square_matrix


def tree(distances: xarray.DataArray) -> Float64[np.ndarray, "merge 4"]:
    """Join heads two by two, the nearest first, by average linkage.

    Args:
        distances: Distances by one measure, as for `embedding`; two heads at least.

    Returns:
        The linkage that `scipy.cluster.hierarchy.dendrogram` draws: the two parts of each merge,
        their distance, and the number of heads in it.  Leaves are numbered as along ``first``;
        neighbours in the drawing are as near as the tree allows.

    Raises:
        UsageError: The distances are by several measures, of fewer than two heads, or some are
            missing.
    """
    from scipy.cluster import hierarchy

    square = square_matrix(distances)
    if len(square) < 2:
        raise UsageError("a tree needs two heads at least.")
    upper = square[np.triu_indices(len(square), 1)]
    joined: Float64[np.ndarray, "merge 4"] = hierarchy.linkage(
        upper, method="average", optimal_ordering=True
    )
    return joined
