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
    return mean_to_neighbours(to_neighbours(score, offsets), present)


def to_neighbours(
    score: Score,
    offsets: tuple[int, ...] = (-1, 0, 1),
    *,
    first: int = 0,
    keys: int | None = None,
) -> Float[Tensor, "batch head query offset"]:
    """What each query gives to the key at each offset; NaN where the text has no such key.

    Args:
        score: of some queries, with the keys up to the last that one of them sees.
        offsets: of the keys, from the queries.
        first: the number of the first query.
        keys: of the whole text; None where `score` has all of them.
    """
    queries, columns = score.shape[2:]
    given = score.new_zeros((*score.shape[:3], len(offsets)))
    for number, offset in enumerate(offsets):
        before = min(max(-first - offset, 0), queries)
        given[:, :, :before, number] = torch.nan
        given[:, :, max((keys or columns) - first - offset, 0) :, number] = torch.nan
        along = score.diagonal(first + offset, dim1=2, dim2=3)
        given[:, :, before : before + along.shape[2], number] = along
    return given


def mean_to_neighbours(
    given: Float[Tensor, "batch head query offset"], present: Float[Tensor, "batch query"]
) -> Float[Tensor, "batch head offset"]:
    """The mean over all queries, to whom a key that is not there was given nothing."""
    there = present.to(given.dtype)
    sums = (given.nan_to_num(0.0) * there[:, None, :, None]).sum(2)
    return sums / there.sum(-1)[:, None, None]
