"""The heads that stand out in a result of the study of circuits."""

import numpy as np
import xarray as xr

from headlight.vocabulary import head_name

FOUND = 0.5
"""A needle is found where a model says more than this share of its tokens."""

Place = tuple[int, int]
"""A layer and a head."""


def most(scores: xr.DataArray) -> list[tuple[str, float]]:
    """Heads and their scores, from the highest; those without one are last.

    Args:
        scores: over layer and head.
    """
    values = scores.transpose("layer", "head").values
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf), axis=None, kind="stable")
    places = zip(*np.unravel_index(order, values.shape), strict=True)
    layers, heads = scores["layer"].values, scores["head"].values
    return [(head_name(int(layers[row]), int(heads[column])), float(values[row, column]))
            for row, column in places]  # fmt: skip


def joined_heads(
    result: xr.Dataset, path: str, number: int
) -> list[tuple[float, tuple[Place, Place]]]:
    """The pairs of heads with the highest composition scores.

    Args:
        result: of the study.
        path: ``query``, ``key`` or ``value``.
        number: of pairs at most.
    """
    axes = ("layer", "head", "later_layer", "later_head")
    scores = result["composition"].sel(path=path).transpose(*axes)
    values = np.where(np.isfinite(scores.values), scores.values, -np.inf)
    order = np.argsort(-values, axis=None, kind="stable")[:number]
    found = []
    for place in zip(*np.unravel_index(order, values.shape), strict=True):
        if np.isfinite(values[place]):
            one, two, three, four = (
                int(result[axis].values[at]) for axis, at in zip(axes, place, strict=True)
            )
            found.append((float(values[place]), ((one, two), (three, four))))
    return found
