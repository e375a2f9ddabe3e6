"""Attention to neighbours: the keys at a few offsets from each query."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from headlight.tensors import Score


def over_neighbours(
    score: Score, present: Float[Tensor, "batch query"], offsets: tuple[int, ...] = (-1, 0, 1)
) -> Float[Tensor, "batch head offset"]:
    """Average over all queries what goes to the key at each offset.

    A position without such a neighbour counts as nothing given, so the denominator is the number
    of tokens for every offset, as in the code of Clark et al. (2019), Section 3.1.
    """
    return mean_to_neighbours(to_neighbours(score, offsets), present)


def to_neighbours(
    score: Score, offsets: tuple[int, ...] = (-1, 0, 1), *, first: int = 0, keys: int | None = None
) -> Float[Tensor, "batch head query offset"]:
    """Return each query's score for the key at each offset; NaN where there is no such key.

    Args:
        score: Score of some queries, with the keys up to the last that any of them sees.
        offsets: Offsets of the keys from the queries.
        first: Number of the first query.
        keys: Number of keys of the whole text; None where `score` has all of them.
    """
    queries, columns = score.shape[2:]
    beside = Beside.from_offsets(offsets, first, queries, columns, keys or columns)
    return beside.on(score.device).take(score)


class Beside(NamedTuple):
    """Neighbours of some queries, for scores of every layer.

    Attributes:
        key: Key of each query at each offset; any other where there is none.
        factor: Factor of its score: 1, 0 for a key that no query sees, or NaN where there is no
            key.
    """

    key: Int64[Tensor, "query offset"]
    factor: Float[Tensor, "query offset"]

    @classmethod
    def from_offsets(
        cls, offsets: tuple[int, ...], first: int, queries: int, columns: int, keys: int
    ) -> "Beside":
        """Return the neighbours, on the host; for arguments see `to_neighbours`.

        Args:
            offsets: Offsets of the keys from the queries.
            first: Number of the first query.
            queries: Number of queries.
            columns: Number of columns of the score.
            keys: Number of keys of the whole text.
        """
        key = torch.arange(first, first + queries)[:, None] + torch.tensor(offsets)
        # A key from `columns` on is in the text, but no query of this block sees it: 0, not NaN.
        factor = (key < columns).float().masked_fill((key < 0) | (key >= keys), torch.nan)
        return cls(key.clamp(0, max(columns - 1, 0)), factor)

    def on(self, device: torch.device) -> "Beside":
        """Return the neighbours on a device."""
        return Beside(*(tensor.to(device) for tensor in self))

    def take(self, score: Score) -> Float[Tensor, "batch head query offset"]:
        """Return the scores for the neighbours, as `to_neighbours` does."""
        key = self.key.expand(*score.shape[:2], -1, -1)
        return score.gather(3, key) * self.factor.to(score.dtype)


def mean_to_neighbours(
    to_offsets: Float[Tensor, "batch head query offset"], present: Float[Tensor, "batch query"]
) -> Float[Tensor, "batch head offset"]:
    """Average over all queries, where a key that is not there counts as given nothing."""
    is_present = present.to(to_offsets.dtype)
    sums = (to_offsets.nan_to_num(0.0) * is_present[:, None, :, None]).sum(2)
    return sums / is_present.sum(-1)[:, None, None]
