"""Left null vectors of the beginnings of matrices: one more for each row beyond head_dim."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.measures.prefixes import Members, Settled, Weights
from headlight.measures.row_space import ONE_PASS, inverse_factor

LONGEST = 3
"""Texts of up to this many times head_dim tokens have so few that they are the shorter way."""


def null_vectors(
    rows: Float[Tensor, "matrix key head_dim"],
) -> tuple[Float[Tensor, "matrix key null"], Bool[Tensor, "matrix"]]:
    """The unit vectors that rows add to the left null space, and where they are exact enough.

    Where the first head_dim rows are independent, each row k that follows adds one: it ends at k
    and is orthogonal to those before it.  With the later rows b of orthonormal columns Q,
    (I − QQᵀ)_bb = R Rᵀ with R upper triangular, and these vectors are (I − QQᵀ)_b R⁻ᵀ.

    Args:
        rows: Q of the whole text; zero where there is no token.
    """
    size = rows.shape[2]
    later = rows[:, size:]
    identity = torch.eye(later.shape[1], dtype=rows.dtype, device=rows.device)
    outside = torch.baddbmm(identity, later, later.mT, alpha=-1)
    inverse, failed = inverse_factor(outside.flip(1, 2))  # from the last row on: upper triangular
    certain = (torch.linalg.vector_norm(inverse, dim=(-2, -1)) < ONE_PASS) & (failed == 0)
    upper = inverse.where(certain[:, None, None], 0).flip(1, 2).mT
    vectors = -(rows @ (later.mT @ upper))
    vectors[:, size:] += upper
    return vectors.triu(-size), certain


class NullVectors:
    """A⊥ of short texts, without what lies along the null vectors of the rows that a query sees.

    A⊥_i = α_i − Σ_{k≤i} ⟨α_i, u_k⟩ u_k takes two products for all queries of a text.

    Args:
        vectors: u_k, of `null_vectors`.
        members: where these matrices are among all.
    """

    def __init__(self, vectors: Float[Tensor, "matrix key null"], members: Members) -> None:
        self._vectors = vectors
        self._members = members

    def fill(self, weights: Weights, results: Weights, settled: Settled, first: int) -> None:
        """Fill `results` of the queries that have null vectors; see `Prefixes.fill`."""
        known, count = self._vectors.shape[1:]
        start = known - count
        low, end = max(first, start), min(first + weights.shape[2], known)
        if low >= end:
            return
        members, queries = self._members, slice(low - first, end - first)
        keys = min(weights.shape[3], known)
        alpha = weights[members, :, queries, :keys].to(results.dtype)
        vectors = self._vectors[:, :keys, : keys - start].to(results.dtype)
        along = (alpha.flatten(1, 2) @ vectors).view(*alpha.shape[:3], -1).tril(low - start)
        null = (along.flatten(1, 2) @ vectors.mT).view_as(alpha)
        results[members, :, queries, :keys] = alpha - null
        settled[members, queries] = True
