"""Divergences of distributions: total variation, Kullback-Leibler and Jensen-Shannon.

They compare rows with rows, and can be differentiated.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.tensors import single

Real = Bool[Tensor, "*#rows #key"]
"""Mask of the entries of rows that are real, and not padding."""


def total_variation(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """Compute ½ Σ_j |p_j − q_j|: the largest difference between the probabilities of any event.

    Of two classes that is |p_1 − q_1|; the released code of Wiegreffe and Pinter (2019) has half
    of it.

    Source: Yang (2020), Section 2, after Jain and Wallace (2019).

    Args:
        p: Distributions.
        q: Other distributions of the same shape.
        real: Mask of the entries that count; by default all.  The other entries are ignored.

    Returns:
        Distances from 0 to 1, one for each row; 0 for a row without a real entry.
    """
    difference = _real(single(p), real) - _real(single(q), real)
    return (difference.abs().sum(-1) / 2).clamp_max(1)


def kullback_leibler(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """Compute KL(p ‖ q) = Σ_j p_j (ln p_j − ln q_j).

    Where p_j is 0, the summand is 0.  Where q_j is 0 and p_j is not, the divergence is infinite;
    here q_j counts as the smallest normal number of its type (in float32 1.2e-38), so that a loss
    stays finite.  In gradients logarithms of zeros are constants, so that they are finite too.  For
    the arguments see `total_variation`.

    Returns:
        Nats for each row, at least 0 but for rounding.
    """
    p, q = _real(single(p), real), _real(single(q), real)
    return (p * (_log(p) - _log(q))).sum(-1)


def kullback_leibler_of_logarithms(
    log_p: Float[Tensor, "*rows key"], log_q: Float[Tensor, "*rows key"]
) -> Float[Tensor, "*rows"]:
    """Compute KL(p ‖ q) from ln p and ln q, as a log-softmax gives them; no number is too small.

    Returns:
        Nats for each row, at least 0; infinite where q is 0 and p is not.
    """
    p = log_p.exp()
    return torch.where(p > 0, p * (log_p - log_q), 0).sum(-1).clamp_min(0)


def jensen_shannon(
    p: Float[Tensor, "*rows key"], q: Float[Tensor, "*rows key"], real: Real | None = None
) -> Float[Tensor, "*rows"]:
    """Compute ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2; arguments as in `total_variation`.

    Source: Yang (2020), Section 2, after Jain and Wallace (2019).

    Returns:
        Nats from 0 to ln 2 for each row; symmetric.
    """
    p, q = _real(single(p), real), _real(single(q), real)
    middle = _log((p + q) / 2)
    nats = (p * (_log(p) - middle) + q * (_log(q) - middle)).sum(-1) / 2
    return nats.clamp(0, math.log(2))


def _real(row: Float[Tensor, "*rows key"], real: Real | None) -> Float[Tensor, "*rows key"]:
    return row if real is None else torch.where(real, row, 0)


def _log(row: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows key"]:
    # The floor is on the argument: a gradient that is infinite at 0 is NaN once multiplied by 0.
    tiny = torch.finfo(row.dtype).tiny
    return torch.where(row < tiny, tiny, row).log()
