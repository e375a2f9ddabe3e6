"""Positions to categories and neighbourhoods, and keys to their distance."""

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
    """Return each query's score for the key at each offset; NaN where there is no such key.

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


PARTS = 4
"""Rows are summed in this many parts; a corner of each is read once more."""


def over_offsets(
    score: Score,
    factor: Float[Tensor, "batch head query"],
    *,
    first: int = 0,
    keys: int | None = None,
    causal: bool = False,
) -> Float[Tensor, "batch head offset"]:
    """Sums over queries of what each, times its factor, gives to the key at each offset.

    Memory is read in rows that are one longer than those of the score.  The cells of a diagonal
    then stand below each other, so that one product adds up all diagonals: row r has what query r
    gives to itself and to the keys after it, then what query r + 1 gives to the keys before it.

    Args:
        score: Of some queries, with the keys up to the last that one of them sees; at least as many
            keys as queries.
        factor: Of each query; 0 leaves it out.
        first: The number of the first query.
        keys: Of the whole text; None where `score` has all of them.
        causal: Whether no query gives anything to a later key.

    Returns:
        For offsets from ``1 - keys`` to ``keys - 1``, key minus query.
    """
    queries, columns = score.shape[2:]
    keys = keys or columns
    found = score.new_zeros(*score.shape[:2], 2 * keys - 1)
    zero = keys - 1 - first  # where the number of the column, in the block, is that of the row
    last = queries - 1
    found[..., zero : zero + columns - last] += score[:, :, last, last:] * factor[..., last:]
    skewed = score.flatten(2)[..., : last * (columns + 1)]
    skewed = skewed.view(*score.shape[:2], last, columns + 1)
    step = last if causal else -(-last // PARTS)
    for begin in range(0, last, step or 1):
        end = min(begin + step, last)
        rows = skewed[:, :, begin:end]
        both = torch.stack([factor[:, :, begin:end], factor[:, :, begin + 1 : end + 1]], 2)
        after, before = (both @ rows).unbind(2)
        # Up to `here` all rows have what they give to later keys, from `there` what to earlier.
        here, there = columns - end + 1, columns - begin
        if causal:  # the column between the two has nothing
            here, there = first + 1, first + 2
        found[..., zero : zero + here] += after[..., :here]
        found[..., zero - columns - 1 + there : zero] += before[..., there:]
        if not causal and here < there:
            corner = rows[..., here:there]
            number = torch.arange(end - begin, device=score.device)
            is_after = number[:, None] + number[:-1] < end - begin - 1
            after, before = (
                (part[:, :, None] @ (corner * where))[:, :, 0]
                for part, where in zip(both.unbind(2), (is_after, ~is_after), strict=True)
            )
            found[..., zero + here : zero + there] += after
            found[..., zero - end : zero - begin - 1] += before
    return found
