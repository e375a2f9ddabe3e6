"""Effective attention under a causal mask, where every query has a T of its own.

The matrices of one head are nested: that of query i is that of query i − 1 and one more row.  So
one Cholesky factor says of all short beginnings whether their rows are independent, running sums
give all Gram matrices, and only what neither settles is decomposed by itself.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.measures.row_space import (
    AT_ONCE,
    ONE_PASS,
    TWO_PASSES,
    orthonormalised,
    row_space,
)
from headlight.shapes import Score, Visible, Weight

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
    inverse, failed = _inverse_factor(gram)
    grown = inverse.square().sum(-1).cumsum(-1).sqrt()
    certain = (grown < TWO_PASSES) & (failed == 0)[..., None]
    settled = torch.zeros(rows.shape[:3], dtype=torch.bool, device=rows.device)
    settled[:, :, :size] = certain
    return settled & short[:, None]


def _project_long(alpha: Weight, rows: Rows, long: Real, attention: Score) -> Certain:
    """Project where a query sees more than head_dim rows that certainly span everything."""
    basis, condition = orthonormalised(rows.flatten(0, 1))
    # Conditioned by the whole text, so that a beginning is little worse than a sample of it.
    usable = condition < ONE_PASS
    flat = basis.where(usable[:, None, None], 0)
    start = int((~long).sum(-1).min())
    weights, results = alpha.flatten(0, 1), attention.flatten(0, 1)
    settled = torch.zeros(results.shape[:2], dtype=torch.bool, device=rows.device)
    step = max(1, AT_ONCE // (flat.shape[1] * flat.shape[2] ** 2))
    for first in range(0, len(flat), step):
        part = slice(first, first + step)
        projected, certain = _project(weights[part, start:].to(flat.dtype), flat[part], start)
        kept = certain & usable[part, None]
        settled[part, start:] = kept
        results[part, start:] = torch.where(
            kept[..., None], projected.to(results.dtype), results[part, start:]
        )
    return settled.view(attention.shape[:3]) & long[:, None]


def _project(
    alpha: Float[Tensor, "matrix query key"],
    rows: Float[Tensor, "matrix key head_dim"],
    start: int,
) -> tuple[Float[Tensor, "matrix query key"], Bool[Tensor, "matrix query"]]:
    """a_i Y (YᵢᵀYᵢ)⁻¹ Yᵢᵀ for the queries from `start` on, and where that is exact enough."""
    grams = (rows[..., :, None] * rows[..., None, :]).cumsum(1)[:, start:]
    inverse, failed = _inverse_factor(grams)
    whole = grams.diagonal(dim1=-2, dim2=-1).sum(-1)
    condition = (whole * inverse.square().sum((-2, -1))).sqrt()
    certain = (failed == 0) & condition.isfinite() & (condition < ONE_PASS)
    inner = inverse @ (alpha @ rows)[..., None]
    projected = (inverse.mT @ inner)[..., 0] @ rows.mT
    return projected.tril(start), certain


def _inverse_factor(
    gram: Float[Tensor, "*batch size size"],
) -> tuple[Float[Tensor, "*batch size size"], Int[Tensor, "*batch"]]:
    """L⁻¹ of G = L Lᵀ, and where there is no L."""
    lower, failed = torch.linalg.cholesky_ex(gram)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False), failed


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
