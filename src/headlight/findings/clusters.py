"""Similarity of heads: distances to a map, a tree, and names for behaviours.

Source: Clark et al. (2019), Section 6 and Figure 6, and their released code.
"""

import inspect
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.errors import UsageError

BEHAVIOURS = ("next", "previous", "broad", "cls", "sep", "punctuation")
"""Behaviours that `behaviours` finds by itself; a head is named by the last one that it shows."""

OTHER = "other"
"""The name of a head without a behaviour."""

NEIGHBOUR, CATEGORY = 0.5, 0.6
"""The share above which a neighbour, or a category of tokens, is what a head is about."""

BROAD, BROAD_KEYS = 3.8, 128
"""Nats above which a head is broad, where texts have this many tokens."""

NOTHING: Mapping[tuple[int, int], str] = MappingProxyType({})

Square = Float64[np.ndarray, "first second"]


def embedding(distances: xarray.DataArray, seed: int = 0) -> xarray.DataArray:
    """A map of heads on which points are as far apart as heads are, as nearly as possible.

    Metric multidimensional scaling (SMACOF, the best of five starts), of the divergences themselves
    and not of their roots, as the authors do.  The map is turned so that it is widest along x;
    which way round it lies means nothing.

    Args:
        distances: those of one measure, ``distance.sel(measure=…)`` of
            `headlight.studies.distances.study.run`.
        seed: of the random starts.

    Returns:
        ``(index, axis)`` with axis ``x`` and ``y``, and with coordinates ``layer`` and ``head``;
        the attribute ``stress`` is Kruskal's stress-1, 0 where distances are kept exactly.

    Raises:
        UsageError: distances of several measures, or some are missing; or scikit-learn is.
    """
    square = _square(distances)
    manifold = _needed("sklearn.manifold", "scikit-learn")
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
    square = _square(distances)
    if len(square) < 2:
        raise UsageError("a tree needs two heads at least.")
    hierarchy = _needed("scipy.cluster.hierarchy", "scipy")
    upper = square[np.triu_indices(len(square), 1)]
    joined: Float64[np.ndarray, "merge 4"] = hierarchy.linkage(
        upper, method="average", optimal_ordering=True
    )
    return joined


def behaviours(
    result: xarray.Dataset,
    *,
    linguistic: Mapping[tuple[int, int], str] = NOTHING,
    measure: str = "weight",
    broad: float | None = BROAD,
) -> xarray.DataArray:
    """Return the known behaviour of each head, by the released code; later rules override.

    More than half to the ``next`` or to the ``previous`` token; ``broad``; more than 60% to
    ``cls``, ``sep`` or ``punctuation``; what `linguistic` says of it.

    Args:
        result: of a survey.
        linguistic: names of heads, (layer, head) from zero, found by other means.
        measure: by which measure of the survey.
        broad: the entropy in nats above which a head is broad; 3.8 is for texts of 128 tokens.
            None takes the same share, 3.8 / ln 128, of the entropy of uniform attention over the
            texts of the survey.

    Returns:
        ``(layer, head)`` of names: one of `BEHAVIOURS`, of `linguistic`, or ``other``; empty where
        a layer has no such head.

    Raises:
        UsageError: the survey has no such measure, or a named head is not in it.
    """
    if measure not in result["measure"].values:
        raise UsageError(
            f"the survey has no measure {measure!r}; it has: "
            f"{', '.join(map(str, result['measure'].values))}."
        )
    of_measure = result.sel(measure=measure)
    entropy = of_measure["entropy"].sel(query_category="all")
    if broad is None:
        broad = BROAD / math.log(BROAD_KEYS) * float(of_measure["entropy_uniform"])
    to = of_measure["share"].sel(query_category="all")
    shows = {
        "next": of_measure["neighbour"].sel(offset=1) > NEIGHBOUR,
        "previous": of_measure["neighbour"].sel(offset=-1) > NEIGHBOUR,
        "broad": entropy > broad,
        **{name: to.sel(key_category=name) > CATEGORY for name in ("cls", "sep", "punctuation")},
    }
    names = np.where(entropy.isnull(), "", OTHER).astype(object)
    for behaviour in BEHAVIOURS:
        names[shows[behaviour].values] = behaviour
    named = entropy.drop_vars(["measure", "query_category"]).copy(data=names).rename("behaviour")
    for (layer, head), label in linguistic.items():
        if layer not in named["layer"].values or head not in named["head"].values:
            raise UsageError(f"head {head} of layer {layer} is named, and is not in the survey.")
        named.loc[layer, head] = label
    return named


def _square(distances: xarray.DataArray) -> Square:
    if set(distances.dims) != {"first", "second"}:
        raise UsageError(
            f"distances have the dimensions {', '.join(map(str, distances.dims))}; select one "
            "measure first, for example distance.sel(measure='weight')."
        )
    square: Square = distances.transpose("first", "second").values.astype(np.float64)
    if not np.isfinite(square).all():
        raise UsageError("some of the distances are missing; heads without a distance have no map.")
    return square


def _needed(module: str, package: str) -> Any:
    """Return a module, or refuse where its package is not installed."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as problem:
        raise UsageError(f"{package} is not installed; pip install {package}.") from problem


def _precomputed(scaling: type) -> dict[str, Any]:
    """Return the options for precomputed distances in this scikit-learn; 1.8 renamed them."""
    if "metric_mds" in inspect.signature(scaling).parameters:
        return {"metric_mds": True, "metric": "precomputed", "init": "random"}
    return {"metric": True, "dissimilarity": "precomputed"}


def _turned(points: Float64[np.ndarray, "index axis"]) -> Float64[np.ndarray, "index axis"]:
    """Around their centre, to the principal axes, so that every seed gives the same view."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    turned = centred @ axes.T
    farthest = turned[np.abs(turned).argmax(axis=0), np.arange(turned.shape[1])]
    view: Float64[np.ndarray, "index axis"] = turned * np.where(farthest < 0, -1.0, 1.0)
    return view


def _stress(points: Float64[np.ndarray, "index axis"], square: Square) -> float:
    """√(Σ (d − δ)² / Σ d²) of distances d on the map and δ between heads (Kruskal 1964)."""
    between = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    whole = (between**2).sum()
    return float(np.sqrt(((between - square) ** 2).sum() / whole)) if whole else 0.0
