"""Multidimensional scaling: a map of heads by how far apart they attend.

Source: Clark et al. (2019), Section 6 and Figure 6, and their released code.
"""

import math
from operator import itemgetter

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.findings.distance_matrix import Square, square_matrix

Points = Float64[np.ndarray, "index axis"]

_STARTS, _MOST_STEPS, _LEAST_GAIN = 5, 1000, 1e-10


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
        UsageError: The distances are by several measures, or some are missing.
    """
    square = square_matrix(distances)
    # The generator and the starts of scikit-learn, so that maps are those that its MDS makes.
    generator = np.random.RandomState(seed)
    starts = [generator.uniform(size=(len(square), 2)) for _ in range(_STARTS)]
    best, _ = min((_majorize(square, start) for start in starts), key=itemgetter(1))
    points = _turned(best)
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


def _majorize(square: Square, points: Points) -> tuple[Points, float]:
    """Move points by Guttman transforms while this lowers the stress (SMACOF; De Leeuw 1977).

    Returns:
        The points, and their raw stress Σ (d − δ)².
    """
    between, stress = _distances(points), math.inf
    for _ in range(_MOST_STEPS):
        # Distances are divided by; that of a point to itself is 0, as is its ratio.
        between[between == 0] = 1e-5
        ratio = square / between
        points = 1 / len(points) * ((np.diag(ratio.sum(axis=1)) - ratio) @ points)
        between = _distances(points)
        previous, stress = stress, float(((between - square) ** 2).sum())
        if previous - stress <= _LEAST_GAIN * float((between**2).sum()):
            break
    return points, stress


def _distances(points: Points) -> Square:
    """Return the Euclidean distance of every two points, as √(‖x‖² − 2 xᵀy + ‖y‖²)."""
    squares = np.einsum("ij,ij->i", points, points)
    between = -2 * (points @ points.T) + squares[:, None] + squares
    np.fill_diagonal(between, 0.0)
    # By rounding, two points in one place may have a small negative number.
    distances: Square = np.sqrt(np.maximum(between, 0.0))
    return distances


def _turned(points: Points) -> Points:
    """Turn points around their centre to the principal axes; every seed then has the same view."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    turned = centred @ axes.T
    farthest = turned[np.abs(turned).argmax(axis=0), np.arange(turned.shape[1])]
    view: Points = turned * np.where(farthest < 0, -1.0, 1.0)
    return view


def _stress(points: Points, square: Square) -> float:
    """Return √(Σ (d − δ)² / Σ d²) of distances d on the map and δ between heads (Kruskal 1964)."""
    between = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    whole = (between**2).sum()
    return float(np.sqrt(((between - square) ** 2).sum() / whole)) if whole else 0.0
