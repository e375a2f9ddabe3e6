"""Positions to categories and neighbourhoods."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.shapes import Score

Membership = Float[Tensor, "batch position category"]


def membership(category: Int[Tensor, "batch position"], size: int) -> Membership:
    """1 where a position is of a category; a position of category −1 (padding) is of none."""
    codes = torch.arange(size, device=category.device)
    return (category[..., None] == codes).float()


def with_all(
    members: Membership,
) -> Float[Tensor, "batch position category_or_all"]:
    """One more category before the others, which holds every position that is not padding."""
    return torch.cat([members.sum(-1, keepdim=True).clamp(max=1), members], dim=-1)


def over_keys(score: Score, keys: Membership) -> Float[Tensor, "batch head query category"]:
    """Sum over the keys of each category (Clark et al. 2019, Section 3.2)."""
    return score @ keys[:, None].to(score.dtype)


def over_queries(
    rows: Float[Tensor, "batch head query kind"], queries: Membership
) -> Float[Tensor, "batch head category kind"]:
    """Mean over the queries of each category; NaN where a document has none."""
    members = queries.mT[:, None].to(rows.dtype)
    count = members.sum(-1, keepdim=True)
    means = members @ rows / count.clamp_min(1)
    return means.masked_fill_(count == 0, torch.nan)


def over_neighbours(
    score: Score, present: Float[Tensor, "batch query"], offsets: tuple[int, ...] = (-1, 0, 1)
) -> Float[Tensor, "batch head offset"]:
    """Mean over all queries of what goes to the key at each offset.

    A position without such a neighbour counts as nothing given, so the denominator is the number
    of tokens for every offset, as in the code of Clark et al. (2019), Section 3.1.
    """
    sums = []
    for offset in offsets:
        diagonal = score.diagonal(offset, dim1=2, dim2=3)
        first = max(0, -offset)
        there = present[:, None, first : first + diagonal.shape[2]].to(score.dtype)
        sums.append((diagonal * there).sum(-1))
    return torch.stack(sums, dim=-1) / present.sum(-1).to(score.dtype)[:, None, None]
