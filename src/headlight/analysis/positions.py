"""The positions on either side of attention, and rows of statistics with layers and heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from headlight.encode.batch import NO_CATEGORY, Batch
from headlight.reduce import Moments
from headlight.vocabulary import Kind, measure

LENGTH_BIN = 8
"""Examples of this many neighbouring lengths share a bin of the correlation by length."""


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions on one side of attention."""

    category: Int64[Tensor, "batch position"]
    lengths: Int64[Tensor, " batch"]

    @staticmethod
    def for_kind(batch: Batch, kind: Kind) -> "tuple[Positions, Positions]":
        """Queries and keys: cross-attention looks from the decoder's text at the encoder's.

        Of sound only what is heard attends, to the silence after it as well.
        """
        source = Positions(batch.category, batch.lengths)
        if kind == "encoder" and batch.heard is not None:
            place = torch.arange(batch.category.shape[1], device=batch.category.device)
            silent = place >= batch.heard[:, None]
            return Positions(batch.category.masked_fill(silent, NO_CATEGORY), batch.heard), source
        if batch.target_category is None or batch.target_lengths is None or kind == "encoder":
            return source, source
        target = Positions(batch.target_category, batch.target_lengths)
        return target, (source if kind == "cross" else target)


def stacked(layers: list[Tensor]) -> np.ndarray:
    """Layers along the second axis; a layer with fewer heads is filled up with NaN."""
    widest = max(layer.shape[1] for layer in layers) if layers[0].ndim > 1 else 0
    rows = [filled(layer, widest) for layer in layers] if widest else layers
    return array(torch.stack(rows, dim=1))


def filled(rows: Tensor, heads: int) -> Tensor:
    """Heads along the second axis, filled up with NaN where there are fewer."""
    missing = heads - rows.shape[1]
    if not missing:
        return rows
    return torch.cat([rows, rows.new_full((len(rows), missing, *rows.shape[2:]), torch.nan)], dim=1)


def array(tensor: Tensor) -> np.ndarray:
    """In float64, where numpy can reach it."""
    tensor = tensor.cpu() if tensor.device.type == "mps" else tensor
    return tensor.cpu().double().numpy()


def moments(rows: np.ndarray) -> Moments:
    """The statistics of observations, one per row."""
    found = Moments(rows.shape[1:])
    found.update(rows)
    return found


def head_mask(
    measures: Sequence[str], heads: Sequence[int]
) -> Bool[np.ndarray, "measure layer head"]:
    """Return the mask of heads of a measure in each layer; one of the whole layer is the first.

    Args:
        measures: of one pass.
        heads: how many heads each layer has.
    """
    sizes = [[size if measure(name).per_head else 1 for size in heads] for name in measures]
    there: Bool[np.ndarray, "measure layer head"] = (
        np.arange(max(heads)) < np.array(sizes)[..., None]
    )
    return there
