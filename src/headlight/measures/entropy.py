"""Entropy of rows (Clark et al. 2019, Section 3.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.measures.precision import back_to, double, single
from headlight.shapes import Score

SHARP = 0.2
"""Below this many nats, the difference of logarithms has too few digits of float32 left."""


def entropy(score: Score) -> Float[Tensor, "batch head query"]:
    """−Σ_j p_j ln p_j of every row, p being the absolute values divided by their sum.

    For attention weights that is their entropy; the same question can be asked of norms and of
    effective attention.  A row of zeros (a padding query) has entropy 0.

    Returns:
        nats, between 0 and ln(keys).

    Source: Clark et al. (2019), Section 3.3, without the smoothing of the released code.
    """
    return entropy_of_sizes(single(score).abs())


def entropy_of_sizes(size: Score) -> Float[Tensor, "batch head query"]:
    """Compute the entropy of numbers that are not negative, as weights and norms are."""
    tiny = torch.finfo(size.dtype).tiny
    total = size.sum(-1).clamp_min(tiny)
    # A zero adds 0 · ln 0 = 0; the floor keeps its logarithm finite, and from taking ten times as
    # long as others, which matters where a mask makes half of all weights zeros.
    weighted = size.clamp_min(tiny).log_().mul_(size).sum(-1)
    found = (total.log() - weighted / total).clamp_min_(0)
    sharp = found < SHARP
    if bool(sharp.any()):
        found[sharp] = _summed(size[sharp]).to(found.dtype)
    return found


def _summed(size: Float[Tensor, "row key"]) -> Float[Tensor, " row"]:
    """The definition in float64, for rows of numbers that are not negative."""
    exact = double(size)
    share = exact / exact.sum(-1, keepdim=True).clamp_min(torch.finfo(exact.dtype).tiny)
    return back_to(-torch.xlogy(share, share).sum(-1), size.device)
