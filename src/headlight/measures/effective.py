"""Effective attention: the part of attention that can change the output (Brunner et al. 2020).

T_h = [f_h(x_1); …] has at most head_dim independent rows.  What part of a row of attention lies in
the left null space of T_h moves nothing.  T_h = V_h W_h has the left singular vectors and values of
V_h R_h (W_h = R_h Q_h), a key × head_dim matrix, so T_h is never formed.

Everything is float64: in float32, T_h has full numerical rank, effective attention then equals raw
attention, and the phenomenon vanishes without a warning.

A query that may not attend to a key cannot move weight there either.  So T_h consists of the rows
that a query can see: all of them in an encoder, those up to the query itself under a causal mask.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.measures.norm import compressed
from headlight.measures.precision import back_to
from headlight.shapes import Factor, Score, Value, Visible, Weight

ONE_PASS, TWO_PASSES = 1e3, 1e7
"""Condition numbers up to which one or two Cholesky factorisations are exact enough (κ² ε)."""

AT_ONCE = 1 << 23
"""Numbers in one block of decompositions, where every query has a T of its own."""

IN_CACHE = 1 << 19
"""Attention weights that are multiplied at once, so that their float64 copies stay in the cache."""

Rows = Float[Tensor, "matrix key head_dim"]


@dataclass(frozen=True, eq=False)
class Effective:
    """Effective attention and the rank that it rests on.

    Attributes:
        attention: A⊥; rows need not sum to 1, entries may be negative.
        rank: rank of T_h; one number per query, or one for all where all see the same keys.
    """

    attention: Score
    rank: Int[Tensor, "batch head #query"]


def effective(
    weight: Weight, value: Value, factor: Factor, width: int, visible: Visible | None = None
) -> Effective:
    """A⊥ = A U Uᵀ, the component of A outside the left null space of T, for every head.

    A singular value of T_h counts as zero below s_max · max(keys, width) · ε of float64, per head:
    the rule of numpy for T_h itself.  Where all visible rows are independent, as in texts of at
    most head_dim tokens, A⊥ = A.  The null attention A∥ is A − A⊥.

    Args:
        weight: α.
        value: v(x); with its bias, unless that was taken off (the paper's T has none).
        factor: R_h of each head, float64.
        width: d_model, the number of columns of T.
        visible: which keys each query may attend to; None for all.

    Source: Brunner et al. (2020), Section 3.4, Eq. 8-9.
    """
    return effective_of_rows(weight, compressed(value, factor), width, visible)


def effective_of_rows(
    weight: Weight,
    rows: Float[Tensor, "batch head key head_dim"],
    width: int,
    visible: Visible | None = None,
    precision: torch.dtype = torch.float64,
) -> Effective:
    """The same from the rows of T in `compressed` coordinates, where they are known already.

    `precision` is that of the last two products.  float64 keeps the digits of small entries; with
    float32 an entry is exact to some 1e-7 of its row, which statistics do not notice.  The basis
    and the rank always come from float64.
    """
    alpha = weight.cpu() if weight.device.type == "mps" else weight
    if visible is not None:
        visible = visible.to(rows.device).expand(rows.shape[0], -1, -1)
    attention = torch.empty(alpha.shape, dtype=precision, device=rows.device)
    if visible is None or visible.shape[1] == 1:
        rank = _shared(alpha, rows, visible, width, attention)
    else:
        rank = _per_query(alpha, rows, visible, width, attention)
    return Effective(back_to(attention, weight.device), rank.to(weight.device))


def _shared(
    alpha: Weight, rows: Tensor, visible: Visible | None, width: int, attention: Score
) -> Tensor:
    """Every query sees the same keys: one T per head.  Fills `attention`, returns the rank."""
    if visible is None:
        seen = torch.ones(rows.shape[:3], dtype=torch.bool, device=rows.device)
    else:
        seen = visible[:, 0, None].expand(rows.shape[:3])
        rows = rows * seen[..., None]
    basis, rank = row_space(rows, seen, width)
    basis = basis.to(attention.dtype)
    step = max(1, IN_CACHE // alpha[0].numel())
    for start in range(0, len(alpha), step):
        part = slice(start, start + step)
        attention[part] = (alpha[part].to(basis.dtype) @ basis[part]) @ basis[part].mT
    return rank[..., None]


def _per_query(
    alpha: Weight, rows: Tensor, visible: Visible, width: int, attention: Score
) -> Tensor:
    """Every query has a T of the rows that it sees.  Fills `attention`, returns the ranks."""
    ranks = []
    step = max(1, AT_ONCE // rows.numel())
    for start in range(0, alpha.shape[2], step):
        part = slice(start, start + step)
        seen = visible[:, None, part].expand(-1, rows.shape[1], -1, -1)
        basis, rank = row_space(rows[:, :, None] * seen[..., None], seen, width)
        row = alpha[:, :, part, None].double()
        attention[:, :, part] = ((row @ basis) @ basis.mT).squeeze(-2)
        ranks.append(rank)
    return torch.cat(ranks, dim=2)


def row_space(
    rows: Float[Tensor, "*batch key head_dim"], seen: Bool[Tensor, "*batch key"], width: int
) -> tuple[Float[Tensor, "*batch key head_dim"], Int[Tensor, "*batch"]]:
    """Orthonormal U spanning the columns of each matrix (zero past its rank), and the rank.

    Most matrices are far from rank-deficient, which a Cholesky factor of their Gram matrix proves
    (σ_min ≥ 1/‖L⁻¹‖_F) at a tenth of the price of a singular value decomposition; only those for
    which it proves nothing are decomposed.

    Args:
        rows: float64; rows that are not seen are zero.
        seen: which rows count.
        width: d_model, for the rank tolerance.
    """
    shape = rows.shape[:-2]
    matrices, seen = rows.flatten(0, -3), seen.flatten(0, -2)
    count, size = seen.sum(-1), rows.shape[-1]
    rank = count.clamp(max=size)
    if bool((count > size).all()):  # long texts of well-behaved heads: the usual, quick case
        quick, condition = _orthonormalised(matrices)
        if bool((condition < ONE_PASS).all()):
            return quick.view(rows.shape), rank.view(shape)
    basis = torch.zeros_like(matrices)
    tall = _cholesky_basis(matrices, count > size, basis)
    short = _independent_rows(matrices, seen, count <= size, basis)
    rest = ~(tall | short)
    if bool(rest.any()):
        tolerance = torch.finfo(rows.dtype).eps * count[rest].clamp(min=width)
        basis[rest], rank[rest] = _singular_basis(matrices[rest], tolerance)
    return basis.view(rows.shape), rank.view(shape)


def _cholesky_basis(
    matrices: Rows, asked: Bool[Tensor, "matrix"], basis: Rows
) -> Bool[Tensor, "matrix"]:
    """Fill `basis` where full column rank is certain; returns where."""
    if not bool(asked.any()):
        return asked
    whole = bool(asked.all())
    chosen = matrices if whole else matrices[asked]
    result, condition = _orthonormalised(chosen)
    again = (condition >= ONE_PASS) & (condition < TWO_PASSES)
    if bool(again.any()):
        result[again] = _orthonormalised(result[again])[0]
    certain = condition < TWO_PASSES
    done = asked.clone()
    done[asked] = certain
    result = result.where(certain[:, None, None], 0)
    if whole:
        basis.copy_(result)
    else:
        basis[asked] = result
    return done


def _orthonormalised(matrices: Rows) -> tuple[Rows, Float[Tensor, "matrix"]]:
    """Y L⁻ᵀ with YᵀY = L Lᵀ, and an upper bound of the condition number of Y (∞ if L failed)."""
    gram = matrices.mT @ matrices
    lower, failed = torch.linalg.cholesky_ex(gram)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    inverse = torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False)
    whole = gram.diagonal(dim1=-2, dim2=-1).sum(-1)  # ‖Y‖_F²
    condition = (whole * inverse.square().sum((-2, -1))).sqrt()
    condition = condition.where((failed == 0) & condition.isfinite(), torch.inf)
    return matrices @ inverse.mT, condition


def _independent_rows(
    matrices: Rows,
    seen: Bool[Tensor, "matrix key"],
    asked: Bool[Tensor, "matrix"],
    basis: Rows,
) -> Bool[Tensor, "matrix"]:
    """Fill `basis` with unit vectors where the seen rows are certainly independent."""
    if not bool(asked.any()):
        return asked
    chosen, present = matrices[asked], seen[asked]
    scale = chosen.norm(dim=(-2, -1)).clamp_min(torch.finfo(chosen.dtype).tiny)
    chosen = chosen / scale[:, None, None]
    gram = chosen @ chosen.mT + torch.diag_embed((~present).to(chosen.dtype))
    lower, failed = torch.linalg.cholesky_ex(gram)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    inverse = torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False)
    certain = (failed == 0) & (inverse.norm(dim=(-2, -1)) < TWO_PASSES)
    places = (present.cumsum(-1) - 1).clamp(0, matrices.shape[-1] - 1)
    units = torch.nn.functional.one_hot(places, matrices.shape[-1]).to(chosen.dtype)
    basis[asked] = units * (present & certain[:, None])[..., None]
    done = asked.clone()
    done[asked] = certain
    return done


def _singular_basis(
    matrices: Rows, tolerance: Float[Tensor, "matrix"]
) -> tuple[Rows, Int[Tensor, "matrix"]]:
    """Left singular vectors of the singular values above the tolerance."""
    left, values, _ = torch.linalg.svd(matrices, full_matrices=False)
    kept = values > values[:, :1] * tolerance[:, None]
    basis = torch.zeros_like(matrices)
    basis[..., : left.shape[-1]] = left * kept[:, None]
    return basis, kept.sum(-1)
