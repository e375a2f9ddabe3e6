"""Masks of the keys whose weights may change, and the largest weight among them."""

import numpy as np
from jaxtyping import Bool, Float64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.observations.layer_arrays import array
from headlight.observations.positions import Texts
from headlight.tensors import Weight

KeyMask = Bool[Tensor, "batch 1 query key"]
"""Mask of the keys that take part in each row; none in rows that stay as they are."""


def key_mask(texts: Texts, rows: Bool[Tensor, "batch query"], record: LayerRecord) -> KeyMask:
    """Return the mask of the keys of these rows that are real, and that their query sees."""
    keys = (texts.keys >= 0)[:, None, None].expand(-1, 1, rows.shape[1], -1)
    if record.visible is not None:
        keys = keys & record.visible[:, None]
    return keys & rows[:, None, :, None]


def mean_largest(weight: Weight, keys: KeyMask) -> Float64[np.ndarray, "batch head"]:
    """Average the largest weight among the keys that take part over rows; NaN for no row."""
    row_mask = keys.any(-1)
    highest = array(weight.masked_fill(~keys, 0).amax(-1)) * array(row_mask)
    number = array(row_mask).sum(-1)
    return np.where(number > 0, highest.sum(-1) / np.maximum(number, 1), np.nan)
