"""Contributions of input tokens, summed by distance and by offset."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

DISTANCES = {
    "1": (1, 1),
    "2": (2, 2),
    "3": (3, 3),
    "4-5": (4, 5),
    "6-10": (6, 10),
    "11+": (11, 10**9),
}
"""Distances that are averaged together (Section 5.3, Figure 4a): the nearest and the farthest."""

Contribution = Float[Tensor, "layer batch query key"]
Present = Bool[Tensor, "batch position"]
PerToken = Float[Tensor, "layer batch query"]


def own_contribution(contribution: Contribution) -> PerToken:
    """Return c_jj, the contribution of a token to the hidden token in its own place (Figure 3a)."""
    return contribution.diagonal(dim1=2, dim2=3)


def is_not_largest(contribution: Contribution) -> Bool[Tensor, "layer batch query"]:
    """Whether another token contributes more than the token itself (P̃, Figure 3b)."""
    # A strict inequality, so that a tie counts for the token itself.
    return contribution.amax(-1) > own_contribution(contribution)


def by_distance(
    contribution: Contribution, present: Present
) -> Float[Tensor, "layer batch query group"]:
    """Average contributions of neighbours within each of `DISTANCES`, on both sides (Figure 4a).

    The mean is over the neighbours that there are, so that a token at the edge of a text has those
    of one side; NaN where it has none.
    """
    members = _groups(contribution.shape[-1], contribution.device).to(contribution.dtype)
    pair_mask = (present[:, :, None] & present[:, None]).to(contribution.dtype)
    count = torch.einsum("bqk,qkg->bqg", pair_mask, members)
    sums = torch.einsum("lbqk,qkg->lbqg", contribution * pair_mask, members)
    return (sums / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


def _groups(positions: int, device: torch.device) -> Bool[Tensor, "query key group"]:
    """Whether the distance of two positions is in each group."""
    place = torch.arange(positions, device=device)
    distance = (place[:, None] - place).abs()
    bounds = list(DISTANCES.values())
    return torch.stack([(distance >= low) & (distance <= high) for low, high in bounds], dim=-1)


@dataclass(frozen=True, eq=False)
class Sums:
    """Contributions added up by relative position, from −reach to reach.

    Attributes:
        count: Number of pairs of tokens.
        total: Sum of their contributions.
        squares: Sum of the squares of their contributions.
    """

    count: Float[np.ndarray, " offset"]
    total: Float[np.ndarray, "layer offset"]
    squares: Float[np.ndarray, "layer offset"]


def by_offset(contribution: Contribution, present: Present, reach: int) -> Sums:
    """Sum contributions by the place of the token relative to the hidden one (Figure 4b)."""
    place = torch.arange(contribution.shape[-1], device=contribution.device)
    offset = (place - place[:, None]).expand(len(present), -1, -1)
    pair_mask = present[:, :, None] & present[:, None]
    return _reach_sums(contribution.flatten(2), offset.flatten(1), pair_mask.flatten(1), reach)


def centred(
    received: Float[Tensor, "layer batch key"],
    present: Present,
    centre: Int64[Tensor, " batch"],
    reach: int,
) -> Sums:
    """Sum contributions to one hidden token of each text, by place from a centre (Figure 18).

    Args:
        received: Contributions to that hidden token.
        present: Mask of the tokens that there are.
        centre: Place in each text; −1 leaves the text out.
        reach: Largest distance from the centre.
    """
    place = torch.arange(received.shape[-1], device=received.device)
    key_mask = present & (centre >= 0)[:, None]
    return _reach_sums(received, place - centre[:, None], key_mask, reach)


def _reach_sums(
    values: Float[Tensor, "layer batch cell"],
    offset: Int64[Tensor, "batch cell"],
    mask: Bool[Tensor, "batch cell"],
    reach: int,
) -> Sums:
    """Sum over all cells of each offset; offsets out of reach are left out."""
    within_reach = mask & (offset.abs() <= reach)
    bins = (offset + reach).where(within_reach, 2 * reach + 1).flatten()  # the last is thrown away
    # In float64, since a corpus adds up millions of small contributions.
    doubled = values.double().flatten(1)
    ones = torch.ones_like(doubled[:1])
    # A row of ones counts the pairs in the same pass.
    rows = torch.cat([ones, doubled, doubled.square()])
    sums = rows.new_zeros(len(rows), 2 * reach + 2).index_add_(1, bins, rows)[:, :-1]
    totals = sums.cpu().numpy()
    layers = len(values)
    return Sums(totals[0], totals[1 : 1 + layers], totals[1 + layers :])
