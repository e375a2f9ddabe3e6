"""Multidimensional scaling: a map of heads by how far apart they attend.

Source: Clark et al. (2019), Section 6 and Figure 6, and their released code.
"""

import inspect
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.findings.distance_matrix import Square, import_optional_dependency, square_matrix


def embedding(distances: xarray.DataArray, seed: int = 0) -> xarray.DataArray:
    """Compute a map of heads whose distances are as nearly as possible those of the heads.

    Metric multidimensional scaling (SMACOF, the best of five starts), of the divergences themselves
    and not of their roots, as the authors do.  The map is turned so that it is widest along x;
    which way round it lies means nothing.

    Args:
        distances: Distances by one measure, ``distance.sel(measure=…)`` of
            `headlight.studies.distances.study.run`.
        seed: Seed of the random starts.

    Returns:
        Points over ``(index, axis)`` with axis ``x`` and ``y``, and with coordinates ``layer`` and
        ``head``; the attribute ``stress`` is Kruskal's stress-1, 0 where distances are kept
        exactly.

    Raises:
        UsageError: The distances are by several measures, some are missing, or scikit-learn is not
            installed.
    """
    square = square_matrix(distances)
    manifold = import_optional_dependency("sklearn.manifold", "scikit-learn")
    scaling = manifold.MDS(
        n_components=2,
        n_init=5,
        max_iter=1000,
        eps=1e-10,
        random_state=seed,
        **_precomputed(manifold.MDS),
    )
    points = _turned(scaling.fit_transform(square))
    return xarray.DataArray(
        points,
        dims=("index", "axis"),
        coords={
            "axis": ["x", "y"],
            **{name: ("index", distances[name].values) for name in ("layer", "head")},
        },
        attrs={"stress": _stress(points, square), "seed": seed},
        name="embedding",
    )


def _precomputed(scaling: type) -> dict[str, Any]:
    """Return the options for precomputed distances in this scikit-learn; 1.8 renamed them."""
    if "metric_mds" in inspect.signature(scaling).parameters:
        return {"metric_mds": True, "metric": "precomputed", "init": "random"}
    return {"metric": True, "dissimilarity": "precomputed"}


def _turned(points: Float64[np.ndarray, "index axis"]) -> Float64[np.ndarray, "index axis"]:
    """Turn points around their centre to the principal axes; every seed then has the same view."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    turned = centred @ axes.T
    farthest = turned[np.abs(turned).argmax(axis=0), np.arange(turned.shape[1])]
    view: Float64[np.ndarray, "index axis"] = turned * np.where(farthest < 0, -1.0, 1.0)
    return view


def _stress(points: Float64[np.ndarray, "index axis"], square: Square) -> float:
    """Return √(Σ (d − δ)² / Σ d²) of distances d on the map and δ between heads (Kruskal 1964)."""
    between = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    whole = (between**2).sum()
    return float(np.sqrt(((between - square) ** 2).sum() / whole)) if whole else 0.0
