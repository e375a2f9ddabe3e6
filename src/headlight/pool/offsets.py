"""What goes to keys at each distance: sums along the diagonals of a score."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.shapes import Score

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
