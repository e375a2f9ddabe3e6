"""Sums of attention by category of key and of query."""

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from headlight.tensors import Score, double

Membership = Float[Tensor, "batch position category"]


def membership(category: Int[Tensor, "batch position"], size: int) -> Membership:
    """Return 1 where a position is of a category; category −1 (padding) counts as none."""
    codes = torch.arange(size, device=category.device)
    return (category[..., None] == codes).float()


def with_all(members: Membership) -> Float[Tensor, "batch position category_or_all"]:
    """Add a category before the others, which holds every position that is not padding."""
    return torch.cat([members.sum(-1, keepdim=True).clamp(max=1), members], dim=-1)


def over_keys(score: Score, keys: Membership) -> Float[Tensor, "batch head query category"]:
    """Sum over the keys of each category (Clark et al. 2019, Section 3.2)."""
    return score @ keys[:, None].to(score.dtype)


def over_queries(
    rows: Float[Tensor, "batch head query kind"], queries: Membership
) -> Float[Tensor, "batch head category kind"]:
    """Average over the queries of each category; NaN where a document has none."""
    members = queries.mT[:, None].to(rows.dtype)
    count = members.sum(-1, keepdim=True)
    means = members @ rows / count.clamp_min(1)
    return means.masked_fill_(count == 0, torch.nan)


def mean_weights(
    queries: Membership,
) -> Float64[Tensor, "batch category position"]:
    """Return the weights of the mean over each category; NaN where a document has none of it.

    Their product with rows is `over_queries`; they are made once for the layers of a batch.
    """
    members = double(queries).mT
    count = members.sum(-1, keepdim=True)
    return (members / count.clamp_min(1)).masked_fill(count == 0, torch.nan)
