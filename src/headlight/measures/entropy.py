"""Entropy of attention (Clark et al. 2019, Section 3.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.tensors import Score, single


def entropy(score: Score) -> Float[Tensor, "batch head query"]:
    """Compute −Σ_j p_j ln p_j of every row, p being the absolute values divided by their sum.

    For attention weights that is their entropy; norms and effective attention have one as well.  A
    row of zeros (a padding query) has entropy 0.

    Returns:
        Nats from 0 to ln(keys).

    Source: Clark et al. (2019), Section 3.3, without the smoothing of the released code.
    """
    return entropy_of_sizes(single(score).abs())


def entropy_of_sizes(size: Score) -> Float[Tensor, "batch head query"]:
    """Compute the entropy of numbers that are not negative, as weights and norms are."""
    tiny = torch.finfo(size.dtype).tiny
    total = size.sum(-1, keepdim=True).clamp_min(tiny)
    largest, place = size.max(-1, keepdim=True)
    # The largest share may be close to 1: its logarithm is computed from the others.
    others = size.scatter(-1, place, 0)
    shares = others / total
    if size.device.type != "cpu":  # one kernel is quicker than three there, unlike on a processor
        nats: Tensor = torch.special.entr(shares).sum(-1)
        nats -= torch.special.xlog1py((largest / total)[..., 0], -shares.sum(-1))
        return nats.clamp_min_(0)
    # The floor keeps logarithms of zeros finite; otherwise they would take ten times as long.
    nats = -shares.clamp_min(tiny).log_().mul_(shares).sum(-1)
    rest = others.sum(-1, keepdim=True)
    nats -= (largest / total * torch.log1p(-rest / total))[..., 0]
    return nats.clamp_min_(0)
