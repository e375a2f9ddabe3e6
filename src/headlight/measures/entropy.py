"""Entropy of rows (Clark et al. 2019, Section 3.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.measures.precision import single
from headlight.shapes import Score


def entropy(score: Score) -> Float[Tensor, "batch head query"]:
    """−Σ_j p_j ln p_j of every row, p being the absolute values divided by their sum.

    For attention weights that is their entropy; the same question can be asked of norms and of
    effective attention.  A row of zeros (a padding query) has entropy 0.

    Returns:
        nats, between 0 and ln(keys).

    Source: Clark et al. (2019), Section 3.3, without the smoothing of the released code.
    """
    size = single(score).abs()
    tiny = torch.finfo(size.dtype).tiny
    total = size.sum(-1).clamp_min(tiny)
    weighted = (size * size.clamp_min(tiny).log()).sum(-1)
    return (total.log() - weighted / total).clamp_min(0)
