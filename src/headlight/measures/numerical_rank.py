"""Orthonormal bases and numerical ranks of the column spaces of matrices of rows."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture.deferred_checks import holds

ONE_PASS, TWO_PASSES = 1e3, 1e7
"""Condition numbers up to which one or two Cholesky factorisations are exact enough (κ² ε)."""

ROUNDED = 1e4
"""Condition number up to which one is exact enough for results that are rounded to float32."""

AT_ONCE = 1 << 21
"""Numbers in one block of decompositions, where every query has a T of its own."""

Rows = Float[Tensor, "matrix key head_dim"]

WELL = 4
"""Condition numbers up to this many times the columns (which they are, where all are orthogonal of
one length) leave a basis that is multiplied in float32 exact enough for results in float32."""


def row_space(
    rows: Float[Tensor, "*batch key head_dim"],
    present_rows: Bool[Tensor, "*batch key"],
    width: int,
    precision: torch.dtype = torch.float64,
) -> tuple[Float[Tensor, "*batch key head_dim"], Int[Tensor, "*batch"]]:
    """Compute the rank of each matrix, and orthonormal U spanning its columns (zero past the rank).

    Most matrices are far from rank-deficient, which a Cholesky factor of their Gram matrix proves
    (σ_min ≥ 1/‖L⁻¹‖_F) at a tenth of the price of a singular value decomposition; only those for
    which it proves nothing are decomposed.

    Args:
        rows: Rows, float64; those that are not seen are zero.
        present_rows: Mask of the rows that count.
        width: Number of columns of T, d_model, for the rank tolerance.
        precision: Precision that is enough for U, which may be in float64 anyway.
    """
    shape = rows.shape[:-2]
    matrices, present_rows = rows.flatten(0, -3), present_rows.flatten(0, -2)
    count, size = present_rows.sum(-1), rows.shape[-1]
    rank = count.clamp(max=size)
    if holds((count > size).all()):  # long texts of well-behaved heads: the usual, quick case
        quick, certain = orthonormalised(matrices, precision=precision)
        if holds(certain.all()):
            return quick.view(rows.shape), rank.view(shape)
    basis = torch.zeros_like(matrices)
    tall = _cholesky_basis(matrices, count > size, basis)
    short = _independent_rows(matrices, present_rows, count <= size, basis)
    rest = ~(tall | short)
    if bool(rest.any()):
        tolerance = torch.finfo(rows.dtype).eps * count[rest].clamp(min=width)
        basis[rest], rank[rest] = _singular_basis(matrices[rest], tolerance)
    return basis.view(rows.shape), rank.view(shape)


def _cholesky_basis(
    matrices: Rows, candidates: Bool[Tensor, "matrix"], basis: Rows
) -> Bool[Tensor, "matrix"]:
    """Fill `basis` where full column rank is certain, and return where."""
    if not bool(candidates.any()):
        return candidates
    result, certain = orthonormalised(matrices[candidates])
    basis[candidates] = result.where(certain[:, None, None], 0)
    solved = candidates.clone()
    solved[candidates] = certain
    return solved


def orthonormalised(
    matrices: Rows, limit: float = ONE_PASS, precision: torch.dtype = torch.float64
) -> tuple[Rows, Bool[Tensor, "matrix"]]:
    """Return orthonormal columns with the span of each matrix, and where they surely have it.

    There is one pass of Y L⁻ᵀ with YᵀY = L Lᵀ, and a second where the first loses too many digits.

    Args:
        matrices: Matrices Y.
        limit: Condition number from which on there is a second pass.
        precision: Precision of the result; factors are always float64.
    """
    result, condition = _one_pass(matrices, precision)
    again = (condition >= limit) & (condition < TWO_PASSES)
    if not holds(~again.any()):
        first, _ = _one_pass(matrices[again])
        result[again] = _one_pass(first)[0].to(precision)
    return result, condition < TWO_PASSES


def _one_pass(
    matrices: Rows, precision: torch.dtype = torch.float64
) -> tuple[Rows, Float[Tensor, "matrix"]]:
    gram = matrices.mT @ matrices
    inverse, failed = inverse_factor(gram)
    condition = condition_bound(gram, inverse, failed)
    if precision == torch.float64 or matrices.device.type != "cpu":  # a device is not asked
        return (matrices @ inverse.mT).to(precision), condition
    result = matrices.to(precision) @ inverse.mT.to(precision)
    well = condition < WELL * matrices.shape[2]
    if not bool(well.all()):
        wide = (matrices[~well] @ inverse[~well].mT).to(precision)
        result[~well] = wide
    return result, condition


def inverse_factor(
    gram: Float[Tensor, "*batch size size"],
) -> tuple[Float[Tensor, "*batch size size"], Int[Tensor, "*batch"]]:
    """Return L⁻¹ of G = L Lᵀ, and numbers that are not zero where there is no L."""
    # Unlike `cholesky`, it does not raise, for which the device would be waited for.
    lower, failed = torch.linalg.cholesky_ex(gram)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False), failed


def condition_bound(
    gram: Float[Tensor, "matrix size size"],
    inverse: Float[Tensor, "matrix size size"],
    failed: Int[Tensor, "matrix"],
) -> Float[Tensor, "matrix"]:
    """Return ‖Y‖_F ‖L⁻¹‖_F, an upper bound of the condition number of Y; ∞ where there is no L."""
    whole = gram.diagonal(dim1=-2, dim2=-1).sum(-1).sqrt()  # ‖Y‖_F
    condition: Tensor = whole * torch.linalg.vector_norm(inverse, dim=(-2, -1))
    return condition.where((failed == 0) & condition.isfinite(), torch.inf)


def _independent_rows(
    matrices: Rows,
    present_rows: Bool[Tensor, "matrix key"],
    candidates: Bool[Tensor, "matrix"],
    basis: Rows,
) -> Bool[Tensor, "matrix"]:
    """Fill `basis` with unit vectors where the seen rows are certainly independent."""
    if not bool(candidates.any()):
        return candidates
    chosen, present = matrices[candidates], present_rows[candidates]
    scale = chosen.norm(dim=(-2, -1)).clamp_min(torch.finfo(chosen.dtype).tiny)
    chosen = chosen / scale[:, None, None]
    # Ones in the place of rows that are not there keep the Gram matrix regular.
    gram = chosen @ chosen.mT + torch.diag_embed((~present).to(chosen.dtype))
    inverse, failed = inverse_factor(gram)
    certain = (failed == 0) & (inverse.norm(dim=(-2, -1)) < TWO_PASSES)
    places = (present.cumsum(-1) - 1).clamp(0, matrices.shape[-1] - 1)
    units = torch.nn.functional.one_hot(places, matrices.shape[-1]).to(chosen.dtype)
    basis[candidates] = units * (present & certain[:, None])[..., None]
    solved = candidates.clone()
    solved[candidates] = certain
    return solved


def _singular_basis(
    matrices: Rows, tolerance: Float[Tensor, "matrix"]
) -> tuple[Rows, Int[Tensor, "matrix"]]:
    """Return left singular vectors of values above the tolerance; NaN for non-finite matrices.

    The ranks are returned too.  The decomposition does not converge on numbers that are not finite.
    """
    finite = matrices.isfinite().all(-1).all(-1)[:, None, None]
    vectors, values, _ = torch.linalg.svd(matrices.where(finite, 0), full_matrices=False)
    nonzero = values > values[:, :1] * tolerance[:, None]
    basis = torch.zeros_like(matrices)
    basis[..., : vectors.shape[-1]] = vectors * nonzero[:, None]
    return basis.where(finite, torch.nan), nonzero.sum(-1)
