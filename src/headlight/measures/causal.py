"""Effective attention under a causal mask, where every query has a T of its own.

The matrices of one head are nested: that of query i is that of query i − 1 and one more row.  So
one Cholesky factor says of all short beginnings whether their rows are independent, neighbouring
queries share one where they see many rows, and only what neither settles is decomposed by itself.
"""

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


def is_causal(visible: Visible) -> bool:
    """Whether every query sees exactly the real keys up to itself."""
    queries, keys = visible.shape[1:]
    if queries != keys:
        return False
    return torch.equal(visible, visible[:, -1:].expand_as(visible).tril())


def fill_causal(
    alpha: Weight, rows: Rows, real: Real, width: int, attention: Score
) -> Int[Tensor, "batch head query"]:
    """Fill `attention` with A⊥ and return the rank of the T of every query.

    Args:
        alpha: α.
        rows: the rows of T in `compressed` coordinates, float64.
        real: which keys are not padding; query i sees those up to i.
        width: d_model, for the rank tolerance.
        attention: where A⊥ goes.
    """
    rows = rows * real[:, None, :, None]
    count = real.cumsum(-1)
    short = count <= rows.shape[-1]
    rank = count.clamp(max=rows.shape[-1])[:, None].repeat(1, rows.shape[1], 1)
    attention.copy_(alpha)  # which it is wherever all visible rows are independent
    settled = _independent_beginnings(rows, real, short)
    if not bool(short.all()):
        settled |= _project_long(alpha, rows, ~short, attention)
    _decompose(alpha, rows, real, width, ~settled, attention, rank)
    return rank


def _independent_beginnings(rows: Rows, real: Real, short: Real) -> Certain:
    """Where a query sees at most head_dim rows, which are certainly independent.

    The leading blocks of a Cholesky factor and of its inverse are those of the leading blocks.
    """
    size = int(short.sum(-1).max())
    scale = rows[:, :, :size].norm(dim=(-2, -1), keepdim=True)
    first = rows[:, :, :size] / scale.clamp_min(torch.finfo(rows.dtype).tiny)
    gram = first @ first.mT + torch.diag_embed((~real[:, None, :size]).to(rows.dtype))
    inverse, failed = inverse_factor(gram)
    grown = inverse.square().sum(-1).cumsum(-1).sqrt()
    certain = (grown < TWO_PASSES) & (failed == 0)[..., None]
    settled = torch.zeros(rows.shape[:3], dtype=torch.bool, device=rows.device)
    settled[:, :, :size] = certain
    return settled & short[:, None]


def _project_long(alpha: Weight, rows: Rows, long: Real, attention: Score) -> Certain:
    """Project where a query sees more than head_dim rows that certainly span everything."""
    # Conditioned by the whole text, so that a beginning is little worse than a sample of it.
    basis, usable = orthonormalised(rows.flatten(0, 1))
    flat = basis.where(usable[:, None, None], 0)
    weights, results = alpha.flatten(0, 1), attention.flatten(0, 1)
    settled = torch.zeros(results.shape[:2], dtype=torch.bool, device=rows.device)
    keys = flat.shape[1]
    for first in range(int((~long).sum(-1).min()), keys, BLOCK):
        block = slice(first, min(first + BLOCK, keys))
        projected, certain = _project(weights[:, block].to(flat.dtype), flat, first)
        kept = (certain & usable)[:, None]
        settled[:, block] = kept
        # A query that sees few rows is filled elsewhere, also in a block of others.
        filled = kept & long[:, block].repeat_interleave(rows.shape[1], dim=0)
        results[:, block] = torch.where(
            filled[..., None], projected.to(results.dtype), results[:, block]
        )
    return settled.view(attention.shape[:3]) & long[:, None]


def _project(
    alpha: Float[Tensor, "matrix query key"],
    rows: Float[Tensor, "matrix key head_dim"],
    first: int,
) -> tuple[Float[Tensor, "matrix query key"], Bool[Tensor, "matrix"]]:
    """a_i Y (YᵢᵀYᵢ)⁻¹ Yᵢᵀ for a block of queries from `first` on, and where that is exact enough.

    All of them see the rows up to `first`, whose Gram matrix is L Lᵀ.  In coordinates y L⁻ᵀ that is
    the identity, to which every query adds the outer products of the rows W that follow.  By
    Woodbury's identity the inverse needs (I + W Wᵀ)⁻¹, of whose factor each query takes its
    leading block.
    """
    base = rows[:, : first + 1]
    gram = base.mT @ base
    inverse, failed = inverse_factor(gram)
    certain = condition_bound(gram, inverse, failed) < ONE_PASS
    inverse = inverse.where(certain[:, None, None], 0)
    later = rows[:, first + 1 : first + alpha.shape[1]] @ inverse.mT
    identity = torch.eye(later.shape[1], dtype=rows.dtype, device=rows.device)
    factor, _ = inverse_factor(identity + later @ later.mT)
    inner = (alpha @ rows) @ inverse.mT
    seen = (inner @ later.mT @ factor.mT).tril(-1)  # query q of the block sees q rows of W
    projected = (inner - seen @ factor @ later) @ inverse @ rows.mT
    return projected.tril(first), certain


def _decompose(
    alpha: Weight,
    rows: Rows,
    real: Real,
    width: int,
    chosen: Certain,
    attention: Score,
    rank: Int[Tensor, "batch head query"],
) -> None:
    """The queries that are left, each with a matrix of its own."""
    if not bool(chosen.any()):
        return
    places = torch.arange(rows.shape[2], device=rows.device)
    step = max(1, AT_ONCE // rows[0, 0].numel())
    for some in torch.split(chosen.nonzero(), step):
        batch, head, query = some.unbind(1)
        seen = real[batch] & (places <= query[:, None])
        basis, ranks = row_space(rows[batch, head] * seen[..., None], seen, width)
        row = alpha[batch, head, query][:, None].to(basis.dtype)
        attention[batch, head, query] = ((row @ basis) @ basis.mT)[:, 0].to(attention.dtype)
        rank[batch, head, query] = ranks
