"""Effective attention under a causal mask, where every query has a T of its own.

The matrices of one head are nested: that of query i is that of query i − 1 and one more row.  So
one Cholesky factor says of all short beginnings whether their rows are independent, neighbouring
queries share one where they see many rows, and only what neither settles is decomposed by itself.
"""

from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.measures.row_space import (
    AT_ONCE,
    ONE_PASS,
    TWO_PASSES,
    condition_bound,
    inverse_factor,
    orthonormalised,
    row_space,
)
from headlight.shapes import Score, Visible, Weight

BLOCK = 16
"""Queries that share a factor."""

Rows = Float[Tensor, "batch head key head_dim"]
Real = Bool[Tensor, "batch key"]
Certain = Bool[Tensor, "batch head query"]


def is_causal(visible: Visible, real: Bool[Tensor, "batch key_of_text"], first: int = 0) -> bool:
    """Whether every query sees exactly the real keys up to itself.

    Args:
        visible: of some queries, with the keys up to the last that one of them sees.
        real: which keys are not padding.
        first: the number of the first query.
    """
    seen = real[:, None, : visible.shape[2]].expand_as(visible)
    return torch.equal(visible, seen.tril(first))


def _is_all(mask: Tensor) -> bool:
    """Whether nothing need be masked; asked on the CPU alone, as others would be waited for."""
    return mask.device.type == "cpu" and bool(mask.all())


class CausalSpaces:
    """The spaces that the rows of T span under a causal mask, for the queries of a layer in order.

    Args:
        rows: the rows of T in `compressed` coordinates, float64.
        real: which keys are not padding; query i sees those up to i.
        width: d_model, for the rank tolerance.
    """

    def __init__(self, rows: Rows, real: Real, width: int) -> None:
        self._rows = rows * real[:, None, :, None]
        self._real = real
        self._width = width
        count = real.cumsum(-1)
        self._short = count <= rows.shape[-1]
        self._rank = count.clamp(max=rows.shape[-1])[:, None].repeat(1, rows.shape[1], 1)
        self._gram: Tensor | None = None
        self._counted = 0

    def fill(
        self, alpha: Weight, attention: Score, first: int = 0
    ) -> Int[Tensor, "batch head query"]:
        """Fill `attention` with A⊥ and return the rank of the T of every query.

        Args:
            alpha: α of some queries, with the keys up to the last that one of them sees.
            attention: where A⊥ goes.
            first: the number of the first query.
        """
        part = slice(first, first + alpha.shape[2])
        attention.copy_(alpha)  # which it is wherever all visible rows are independent
        settled = self._beginnings[:, :, part].clone()
        if not bool(self._short[:, part].all()):
            settled |= self._project_long(alpha, attention, first)
        rank = self._rank[:, :, part].clone()
        self._decompose(alpha, ~settled, attention, rank, first)
        return rank

    @cached_property
    def _beginnings(self) -> Certain:
        """Where a query sees at most head_dim rows, which are certainly independent.

        The leading blocks of a Cholesky factor and of its inverse are those of the leading blocks.
        """
        rows, short = self._rows, self._short
        size = int(short.sum(-1).max())
        scale = rows[:, :, :size].norm(dim=(-2, -1), keepdim=True)
        first = rows[:, :, :size] / scale.clamp_min(torch.finfo(rows.dtype).tiny)
        padding = torch.diag_embed((~self._real[:, None, :size]).to(rows.dtype))
        inverse, failed = inverse_factor(first @ first.mT + padding)
        grown = torch.linalg.vector_norm(inverse, dim=-1).square().cumsum(-1).sqrt()
        certain = (grown < TWO_PASSES) & (failed == 0)[..., None]
        settled = torch.zeros(rows.shape[:3], dtype=torch.bool, device=rows.device)
        settled[:, :, :size] = certain
        return settled & short[:, None]

    @cached_property
    def _basis(self) -> tuple[Float[Tensor, "matrix key head_dim"], Bool[Tensor, "matrix"]]:
        """The rows conditioned by the whole text, and for which heads that is exact enough.

        So a beginning is little worse than a sample of the whole.
        """
        basis, usable = orthonormalised(self._rows.flatten(0, 1))
        return basis.where(usable[:, None, None], 0), usable

    @cached_property
    def _long(self) -> int:
        """The first query, of any text, that sees more than head_dim rows."""
        return int(self._short.sum(-1).min())

    def _project_long(self, alpha: Weight, attention: Score, first: int) -> Certain:
        """Project where a query sees more than head_dim rows that certainly span everything."""
        _, usable = self._basis
        heads, end = alpha.shape[1], first + alpha.shape[2]
        weights, results = alpha.flatten(0, 1), attention.flatten(0, 1)
        settled = torch.zeros(results.shape[:2], dtype=torch.bool, device=results.device)
        long = ~self._short
        skipped = max(0, first - self._long) // BLOCK * BLOCK
        for cell in range(self._long + skipped, end, BLOCK):
            low, high = max(cell, first), min(cell + BLOCK, end)
            block = slice(low - first, high - first)
            projected, certain = self._project(weights[:, block], cell, low)
            kept = (certain & usable)[:, None]
            settled[:, block] = kept
            # A query that sees few rows is filled elsewhere, also in a block of others.
            filled = kept & long[:, low:high].repeat_interleave(heads, dim=0)
            seen = results[:, block, : projected.shape[2]]
            if not _is_all(filled):
                projected = torch.where(filled[..., None], projected, seen.to(projected.dtype))
            seen.copy_(projected)
        return settled.view(alpha.shape[:3]) & long[:, None, first:end]

    def _project(
        self, alpha: Float[Tensor, "matrix query key"], cell: int, low: int
    ) -> tuple[Float[Tensor, "matrix query seen"], Bool[Tensor, "matrix"]]:
        """a_i Y (YᵢᵀYᵢ)⁻¹ Yᵢᵀ for queries from `low` on, and where that is exact enough.

        All queries of a cell see the rows up to the first of them, whose Gram matrix is L Lᵀ.  In
        coordinates y L⁻ᵀ that is the identity, to which every query adds the outer products of the
        rows W that follow.  By Woodbury's identity the inverse needs (I + W Wᵀ)⁻¹, of whose factor
        each query takes its leading block.
        """
        flat, _ = self._basis
        gram = self._gram_until(cell + 1)
        inverse, failed = inverse_factor(gram)
        certain = condition_bound(gram, inverse, failed) < ONE_PASS
        if not _is_all(certain):
            inverse = inverse.where(certain[:, None, None], 0)
        later = flat[:, cell + 1 : cell + BLOCK] @ inverse.mT
        identity = torch.eye(later.shape[1], dtype=flat.dtype, device=flat.device)
        factor, _ = inverse_factor(torch.baddbmm(identity, later, later.mT))
        seen_keys = min(low + alpha.shape[1], alpha.shape[2])
        rows = flat[:, :seen_keys]
        inner = (alpha[..., :seen_keys].to(flat.dtype) @ rows) @ inverse.mT
        # Query q of the cell sees q rows of W.
        seen = (inner @ later.mT @ factor.mT).tril(low - cell - 1)
        projected = torch.baddbmm(inner, seen @ factor, later, alpha=-1) @ inverse @ rows.mT
        return projected.tril(low), certain

    def _gram_until(self, count: int) -> Float[Tensor, "matrix head_dim head_dim"]:
        """YᵀY of this many rows; to what is known of the rows before them, theirs are added."""
        flat, _ = self._basis
        if self._gram is None or count < self._counted:
            self._gram, self._counted = torch.zeros_like(flat[:, :1].mT @ flat[:, :1]), 0
        if count > self._counted:
            later = flat[:, self._counted : count]
            self._gram = torch.baddbmm(self._gram, later.mT, later)
            self._counted = count
        return self._gram

    def _decompose(
        self,
        alpha: Weight,
        chosen: Certain,
        attention: Score,
        rank: Int[Tensor, "batch head query"],
        first: int,
    ) -> None:
        """The queries that are left, each with a matrix of its own."""
        if not bool(chosen.any()):
            return
        places = chosen.nonzero()
        # Mostly they are the first that see more than head_dim rows: no need to look at the others.
        keys = min(first + int(places[:, 2].max()) + 1, alpha.shape[3])
        rows, real = self._rows[:, :, :keys], self._real[:, :keys]
        numbers = torch.arange(keys, device=rows.device)
        step = max(1, AT_ONCE // rows[0, 0].numel())
        for some in torch.split(places, step):
            batch, head, query = some.unbind(1)
            seen = real[batch] & (numbers <= first + query[:, None])
            basis, ranks = row_space(rows[batch, head] * seen[..., None], seen, self._width)
            row = alpha[batch, head, query, :keys][:, None].to(basis.dtype)
            projected = (row @ basis) @ basis.mT
            attention[batch, head, query, :keys] = projected[:, 0].to(attention.dtype)
            rank[batch, head, query] = ranks
