"""Layers and heads as arrays in float64, filled up where a layer has fewer heads."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.reduce import Moments
from headlight.vocabulary import measure


def stacked(layers: list[Tensor]) -> np.ndarray:
    """Stack layers along the second axis; a layer with fewer heads is filled up with NaN."""
    widest = max(layer.shape[1] for layer in layers) if layers[0].ndim > 1 else 0
    rows = [filled(layer, widest) for layer in layers] if widest else layers
    return array(torch.stack(rows, dim=1))


def filled(rows: Tensor, heads: int) -> Tensor:
    """Fill up heads along the second axis with NaN where there are fewer."""
    missing = heads - rows.shape[1]
    if not missing:
        return rows
    return torch.cat([rows, rows.new_full((len(rows), missing, *rows.shape[2:]), torch.nan)], dim=1)


def array(tensor: Tensor) -> np.ndarray:
    """Return a tensor as a numpy array in float64."""
    # To the host before float64, which MPS does not have.
    return tensor.cpu().double().numpy()


def moments(rows: np.ndarray) -> Moments:
    """Return the statistics of observations, one per row."""
    result = Moments(rows.shape[1:])
    result.update(rows)
    return result


def head_mask(
    measures: Sequence[str], heads: Sequence[int]
) -> Bool[np.ndarray, "measure layer head"]:
    """Return the mask of heads of each measure; a measure of whole layers has only the first.

    Args:
        measures: Measures of one pass.
        heads: Number of heads of each layer.
    """
    sizes = [[size if measure(name).per_head else 1 for size in heads] for name in measures]
    mask: Bool[np.ndarray, "measure layer head"] = (
        np.arange(max(heads)) < np.array(sizes)[..., None]
    )
    return mask
