"""Sums over queries by the offset of the key."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.tensors import Score, double, widest


def over_offsets(
    score: Score, factor: Float[Tensor, "batch head query"]
) -> Float[Tensor, "batch head place"]:
    """Return sums over queries of the scores, times a factor, for the key at each offset.

    Rows are filled up with zeros, and memory is then read in rows that are one longer: the cells of
    a diagonal stand below each other, and one sum over rows adds up all of them.

    Args:
        score: Score of some queries, with the keys up to the last that any of them sees.
        factor: Factor of each query; 0 leaves it out.

    Returns:
        Sums in float64, in the order of `offsets_of`.
    """
    queries, columns = score.shape[2:]
    width = columns + queries + 1
    filled = score.new_zeros(*score.shape[:2], queries + 1, columns + queries)
    torch.mul(score, factor[..., None], out=filled[:, :, :queries, :columns])
    skewed = filled.flatten(2)[..., : queries * width].view(*score.shape[:2], queries, width)
    return double(skewed.sum(2, dtype=widest(score.device)))


def offsets_of(
    queries: int, columns: int
) -> tuple[Int64[Tensor, " place"], Bool[Tensor, " place"]]:
    """Return the offset from the query, counted in the block, at each place of `over_offsets`.

    The second tensor is the mask of places with an offset; nothing is added up at the others.
    """
    places = torch.arange(columns + queries + 1)
    # Negative offsets have wrapped to the end of a skewed row.
    offsets = torch.where(places < columns, places, places - len(places))
    return offsets, (places < columns) | (offsets > -queries)
