"""Statistics of contributions: a token's own share, that of its neighbours, near and far.

Pure functions of c, ``[layer, batch, query, key]``, of texts to themselves: the input token ``key``
contributes so much to the hidden token ``query``.  Source: Brunner et al. (2020), Section 5.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

MARKS = ("low", "first", "median", "third", "high")
"""Ends of the whiskers, quartiles and median, as boxes are drawn."""

WHISKER = 1.5
"""Whiskers reach to what was seen within this many heights of the box beyond it (Tukey 1977)."""


def boxes(
    counts: Float64[np.ndarray, "*entry bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "*entry mark"]:
    """`MARKS` of each entry; NaN where nothing was counted.

    Quantiles are interpolated within their bin, and are off by the width of a bin at most; the ends
    of whiskers are edges of bins.
    """
    flat = counts.reshape(-1, counts.shape[-1])
    found = np.array([_box(row, edges) for row in flat])
    return found.reshape(*counts.shape[:-1], len(MARKS))


def _box(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"]
) -> Float64[np.ndarray, "mark=5"]:
    if not counts.sum():
        return np.full(len(MARKS), np.nan)
    first, median, third = (_quantile(counts, edges, level) for level in (0.25, 0.5, 0.75))
    reach = WHISKER * (third - first)
    seen = np.flatnonzero(counts)
    lows, highs = edges[seen], edges[seen + 1]
    low = lows[highs > first - reach][0]
    high = highs[lows < third + reach][-1]
    return np.array([max(low, first - reach), first, median, third, min(high, third + reach)])


def _quantile(
    counts: Float64[np.ndarray, " bin"], edges: Float64[np.ndarray, " edge"], level: float
) -> float:
    """Return the value below which a share ``level`` of observations lies, uniform in a bin."""
    below = np.concatenate([[0.0], counts.cumsum()])
    wanted = level * below[-1]
    place = int(np.searchsorted(below, wanted, side="left"))
    place = max(place, 1)
    inside = (wanted - below[place - 1]) / counts[place - 1]
    return float(edges[place - 1] + inside * (edges[place] - edges[place - 1]))


GROUPS = {
    "1": (1, 1),
    "2": (2, 2),
    "3": (3, 3),
    "4-5": (4, 5),
    "6-10": (6, 10),
    "11+": (11, 10**9),
}
"""Distances that are looked at together (Section 5.3, Figure 4a): the nearest and the farthest."""

Contribution = Float[Tensor, "layer batch query key"]
Present = Bool[Tensor, "batch position"]
PerToken = Float[Tensor, "layer batch query"]


def own(contribution: Contribution) -> PerToken:
    """c_jj: what a token contributes to the hidden token in its own place (Figure 3a)."""
    return contribution.diagonal(dim1=2, dim2=3)


def is_not_largest(contribution: Contribution) -> Bool[Tensor, "layer batch query"]:
    """Whether another token contributes more than the token itself (P̃, Figure 3b)."""
    return contribution.amax(-1) > own(contribution)


def by_distance(
    contribution: Contribution, present: Present
) -> Float[Tensor, "layer batch query group"]:
    """Mean contribution of the neighbours within each of `GROUPS`, left and right (Figure 4a).

    The mean is over the neighbours that there are, so that a token at the edge of a text has those
    of one side; NaN where it has none.
    """
    members = _groups(contribution.shape[-1], contribution.device).to(contribution.dtype)
    there = (present[:, :, None] & present[:, None]).to(contribution.dtype)
    count = torch.einsum("bqk,qkg->bqg", there, members)
    sums = torch.einsum("lbqk,qkg->lbqg", contribution * there, members)
    return (sums / count.clamp_min(1)).masked_fill(count == 0, torch.nan)


def _groups(positions: int, device: torch.device) -> Bool[Tensor, "query key group"]:
    """Whether the distance of two positions is in each group."""
    place = torch.arange(positions, device=device)
    distance = (place[:, None] - place).abs()
    bounds = list(GROUPS.values())
    return torch.stack([(distance >= low) & (distance <= high) for low, high in bounds], dim=-1)


@dataclass(frozen=True, eq=False)
class Sums:
    """Contributions added up by relative position, from −reach to reach.

    Attributes:
        count: pairs of tokens that there are.
        total: what is contributed in them.
        squares: the sum of its squares.
    """

    count: Float[np.ndarray, " offset"]
    total: Float[np.ndarray, "layer offset"]
    squares: Float[np.ndarray, "layer offset"]


def by_offset(contribution: Contribution, present: Present, reach: int) -> Sums:
    """By the place of the contributing token, relative to the hidden one (Figure 4b)."""
    place = torch.arange(contribution.shape[-1], device=contribution.device)
    offset = (place - place[:, None]).expand(len(present), -1, -1)
    there = present[:, :, None] & present[:, None]
    return _summed(contribution.flatten(2), offset.flatten(1), there.flatten(1), reach)


def centred(
    received: Float[Tensor, "layer batch key"],
    present: Present,
    centre: Int64[Tensor, " batch"],
    reach: int,
) -> Sums:
    """Sum what one hidden token of each text receives, by place relative to a centre (Figure 18).

    Args:
        received: the contributions to that hidden token.
        present: which tokens there are.
        centre: a place in each text; −1 leaves the text out.
        reach: how far from it.
    """
    place = torch.arange(received.shape[-1], device=received.device)
    there = present & (centre >= 0)[:, None]
    return _summed(received, place - centre[:, None], there, reach)


def _summed(
    values: Float[Tensor, "layer batch cell"],
    offset: Int64[Tensor, "batch cell"],
    there: Bool[Tensor, "batch cell"],
    reach: int,
) -> Sums:
    """Sums over all cells of each offset; what is out of reach is left out."""
    seen = there & (offset.abs() <= reach)
    bins = (offset + reach).where(seen, 2 * reach + 1).flatten()  # the last is thrown away
    doubled = values.double().flatten(1)
    ones = torch.ones_like(doubled[:1])
    rows = torch.cat([ones, doubled, doubled.square()])
    sums = rows.new_zeros(len(rows), 2 * reach + 2).index_add_(1, bins, rows)[:, :-1]
    found = sums.cpu().numpy()
    layers = len(values)
    return Sums(found[0], found[1 : 1 + layers], found[1 + layers :])


def first_of(category: Int64[Tensor, "batch position"], code: int) -> Int64[Tensor, " batch"]:
    """The first position of a category in each text; −1 where there is none."""
    found = category == code
    return found.int().argmax(-1).where(found.any(-1), -1)
