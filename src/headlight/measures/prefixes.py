"""Projections on the beginnings of matrices, one row longer for each query."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.measures.row_space import AT_ONCE, ONE_PASS, inverse_factor, orthonormalised

BLOCK = 16
"""Queries that share a factor."""

Members = slice | Tensor
Weights = Float[Tensor, "matrix sharing query key"]
Settled = Bool[Tensor, "matrix query"]


class Prefixes:
    """The beginnings of some matrices, all of full column rank from the same row on.

    Args:
        rows: orthonormalised over the whole text, so that a beginning is little worse than a sample
            of the whole, and no singular value of it is above 1.
        members: where these matrices are among all.
        start: the first query whose matrix has more distinct rows than columns.
    """

    def __init__(
        self, rows: Float[Tensor, "matrix key head_dim"], members: Members, start: int
    ) -> None:
        self._rows = rows
        self._members = members
        self._start = start
        self._gram: Tensor | None = None
        self._counted = 0

    def fill(self, weights: Weights, results: Weights, settled: Settled, first: int) -> None:
        """Fill `results` with projections, and note where they are exact enough.

        Args:
            weights: of all matrices.
            results: of all matrices; numbers that are not exact enough are overwritten as well.
            settled: becomes true where they are.
            first: the number of the first query.
        """
        members, end = self._members, first + weights.shape[2]
        skipped = max(0, first - self._start) // BLOCK * BLOCK
        for cell in range(self._start + skipped, end, BLOCK):
            low, high = max(cell, first), min(cell + BLOCK, end)
            block = slice(low - first, high - first)
            projected, certain = self._project(weights[members, :, block], cell, low)
            results[members, :, block, : projected.shape[3]] = projected.to(results.dtype)
            settled[members, block] = certain[:, None]

    def _project(
        self, alpha: Weights, cell: int, low: int
    ) -> tuple[Float[Tensor, "matrix sharing query seen"], Bool[Tensor, "matrix"]]:
        """a_i Y (YᵢᵀYᵢ)⁻¹ Yᵢᵀ for queries from `low` on, and where that is exact enough.

        All queries of a cell see the rows up to the first of them, whose Gram matrix is L Lᵀ.  In
        coordinates y L⁻ᵀ that is the identity, to which every query adds the outer products of the
        rows W that follow.  By Woodbury's identity the inverse needs (I + W Wᵀ)⁻¹, of whose factor
        each query takes its leading block.
        """
        inverse, failed = inverse_factor(self._gram_until(cell + 1))
        certain = (torch.linalg.vector_norm(inverse, dim=(-2, -1)) < ONE_PASS) & (failed == 0)
        inverse = inverse.where(certain[:, None, None], 0)
        later = self._rows[:, cell + 1 : cell + BLOCK] @ inverse.mT
        identity = torch.eye(later.shape[1], dtype=later.dtype, device=later.device)
        factor, _ = inverse_factor(torch.baddbmm(identity, later, later.mT))
        matrices, sharing, queries, keys = alpha.shape
        seen_keys = min(low + queries, keys)
        rows = self._rows[:, :seen_keys]
        inner = (alpha[..., :seen_keys].to(rows.dtype).flatten(1, 2) @ rows) @ inverse.mT
        # Query q of the cell sees q rows of W.
        seen = (inner @ later.mT @ factor.mT).view(matrices, sharing, queries, -1)
        seen = seen.tril(low - cell - 1)
        solved = torch.baddbmm(inner, seen.flatten(1, 2) @ factor, later, alpha=-1) @ inverse
        projected = (solved @ rows.mT).view(matrices, sharing, queries, seen_keys)
        return projected.tril(low), certain

    def _gram_until(self, count: int) -> Float[Tensor, "matrix head_dim head_dim"]:
        """YᵀY of this many rows; to what is known of the rows before them, theirs are added."""
        flat = self._rows
        if self._gram is None or count < self._counted:
            self._gram, self._counted = torch.zeros_like(flat[:, :1].mT @ flat[:, :1]), 0
        if count > self._counted:
            later = flat[:, self._counted : count]
            self._gram = torch.baddbmm(self._gram, later.mT, later)
            self._counted = count
        return self._gram


def project_singly(
    rows: Float[Tensor, "matrix row head_dim"],
    chosen: Settled,
    weights: Weights,
    results: Weights,
    settled: Settled,
    first: int,
) -> None:
    """Project single queries, each with a factor of its own, in two passes where one is poor.

    Args:
        rows: as of `Prefixes`, of all matrices.
        chosen: which queries of which matrices.
        weights: as of `Prefixes.fill`, as are the others.
        results: where projections go.
        settled: becomes true where they are exact enough.
        first: the number of the first query.
    """
    places = chosen.nonzero()
    if not len(places):
        return
    keys = min(first + int(places[:, 1].max()) + 1, weights.shape[3])
    numbers = torch.arange(keys, device=rows.device)
    for some in torch.split(places, max(1, AT_ONCE // rows[0, :keys].numel())):
        matrix, query = some.unbind(1)
        seen = numbers <= first + query[:, None]
        basis, certain = orthonormalised(rows[matrix, :keys] * seen[..., None])
        row = weights[matrix, :, query, :keys].to(rows.dtype)
        results[matrix, :, query, :keys] = ((row @ basis) @ basis.mT).to(results.dtype)
        settled[matrix, query] = certain
