"""Row spaces of the matrix T, and rows of it that are equal.

Rows of T that are equal, as those of one token that stands at several places are in layer 0.
What cannot tell equal rows apart gives all of them the mean of their weights; so where the distinct
rows are independent, A⊥ is that mean.  Rows of zeros get nothing.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture.backward import holds

ONE_PASS, TWO_PASSES = 1e3, 1e7
"""Condition numbers up to which one or two Cholesky factorisations are exact enough (κ² ε)."""

ROUNDED = 1e4
"""Condition number up to which one is exact enough for results that are rounded to float32."""

AT_ONCE = 1 << 21
"""Numbers in one block of decompositions, where every query has a T of its own."""

Rows = Float[Tensor, "matrix key head_dim"]
Members = slice | Tensor
Weights = Float[Tensor, "matrix sharing query key"]
Settled = Bool[Tensor, "matrix query"]


WELL = 4
"""Condition numbers up to this many times the columns (which they are, where all are orthogonal of
one length) leave a basis that is multiplied in float32 exact enough for results in float32."""


def row_space(
    rows: Float[Tensor, "*batch key head_dim"],
    present_rows: Bool[Tensor, "*batch key"],
    width: int,
    precision: torch.dtype = torch.float64,
) -> tuple[Float[Tensor, "*batch key head_dim"], Int[Tensor, "*batch"]]:
    """Orthonormal U spanning the columns of each matrix (zero past its rank), and the rank.

    Most matrices are far from rank-deficient, which a Cholesky factor of their Gram matrix proves
    (σ_min ≥ 1/‖L⁻¹‖_F) at a tenth of the price of a singular value decomposition; only those for
    which it proves nothing are decomposed.

    Args:
        rows: float64; rows that are not seen are zero.
        present_rows: which rows count.
        width: d_model, for the rank tolerance.
        precision: that is enough for U, which may be in float64 anyway.
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
    """Fill `basis` where full column rank is certain; returns where."""
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
    """Orthonormal columns with the span of each matrix, and where they are certain to have it.

    One pass of Y L⁻ᵀ with YᵀY = L Lᵀ; a second where the first loses too many digits.

    Args:
        matrices: Y.
        limit: the condition number from which on it does.
        precision: of the result; factors are always float64.
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
    """L⁻¹ of G = L Lᵀ, and where there is no L (not zero)."""
    lower, failed = torch.linalg.cholesky_ex(gram)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False), failed


def null_vectors(
    rows: Float[Tensor, "matrix key head_dim"], limit: float = ONE_PASS
) -> tuple[Float[Tensor, "matrix key null"], Bool[Tensor, "matrix"]]:
    """The unit vectors that rows add to the left null space, and where they are exact enough.

    Where the first head_dim rows F are independent, each row b that follows adds one: it ends there
    and is orthogonal to those before it.  With C = B F⁻¹ and I + C Cᵀ = L Lᵀ these vectors are the
    rows of L⁻¹ (−C, I).

    Args:
        rows: of the whole text; zero where there is no token.
        limit: of what errors grow by (the root of it for two factors).
    """
    size = rows.shape[2]
    inverse, failed = torch.linalg.inv_ex(rows[:, :size])
    shares = rows[:, size:] @ inverse
    identity = torch.eye(shares.shape[1], dtype=rows.dtype, device=rows.device)
    within, _ = inverse_factor(torch.baddbmm(identity, shares, shares.mT))
    length = shares.norm(dim=(-2, -1))
    condition = rows[:, :size].norm(dim=(-2, -1)) * inverse.norm(dim=(-2, -1))
    certain = (failed == 0) & (length < limit) & (condition * length < limit**2)
    vectors = torch.cat([-(within @ shares), within], 2)
    return vectors.where(certain[:, None, None], 0).mT, certain


class NullVectors:
    """A⊥ of short texts, without what lies along the null vectors of the rows that a query sees.

    A⊥_i = α_i − Σ_{k≤i} ⟨α_i, u_k⟩ u_k takes two products for all queries of a text.

    Args:
        vectors: u_k, of `null_vectors`, in the precision of the results.
        certain: where they are exact enough.
        members: where these matrices are among all.
    """

    def __init__(
        self,
        vectors: Float[Tensor, "matrix key null"],
        certain: Bool[Tensor, "matrix"],
        members: Members,
    ) -> None:
        self._vectors = vectors
        self._certain = certain
        self._members = members

    def fill(self, weights: Weights, results: Weights, settled: Settled, first: int) -> None:
        """Fill `results` of the queries that may have null vectors, and note where they are exact.

        Args:
            weights: of all matrices.
            results: of all matrices; numbers that are not exact enough are overwritten as well.
            settled: becomes true where they are, and false where not.
            first: the number of the first query.
        """
        total, count = self._vectors.shape[1:]
        start, keys = total - count, weights.shape[3]
        queries = slice(max(first, start) - first, weights.shape[2])
        if queries.start >= queries.stop:
            return
        members, inside = self._members, min(keys, total)
        alpha = weights[members, :, queries].to(results.dtype)
        vectors = self._vectors[:, :inside, : max(0, inside - start)]
        along = alpha[..., :inside].flatten(1, 2) @ vectors
        along = along.view(*alpha.shape[:3], -1).tril(first + queries.start - start)
        null = (along.flatten(1, 2) @ vectors.mT).view(*alpha.shape[:3], inside)
        results[members, :, queries, :inside] = alpha[..., :inside] - null
        results[members, :, queries, inside:] = alpha[..., inside:]
        settled[members, queries] = self._certain[:, None]


def project_singly(
    rows: Float[Tensor, "matrix row head_dim"],
    places: Int[Tensor, "place 2"],
    weights: Weights,
    results: Weights,
    settled: Settled,
    first: int,
    limit: float,
) -> None:
    """Project single queries, each with a factor of its own, in two passes where one is poor.

    Args:
        rows: of all matrices, orthonormalised over the whole text.
        places: which queries of which matrices, on the host.
        weights: of all matrices.
        results: where projections go.
        settled: becomes true where they are exact enough.
        first: the number of the first query.
        limit: the condition number from which on there are two passes.
    """
    keys = min(first + int(places[:, 1].max()) + 1, weights.shape[3])
    numbers = torch.arange(keys, device=rows.device)
    for some in torch.split(places, max(1, AT_ONCE // rows[0, :keys].numel())):
        matrix, query = some.to(rows.device).unbind(1)
        visible_keys = numbers <= first + query[:, None]
        basis, certain = orthonormalised(rows[matrix, :keys] * visible_keys[..., None], limit)
        row = weights[matrix, :, query, :keys].to(rows.dtype)
        results[matrix, :, query, :keys] = ((row @ basis) @ basis.mT).to(results.dtype)
        settled[matrix, query] = certain


def condition_bound(
    gram: Float[Tensor, "matrix size size"],
    inverse: Float[Tensor, "matrix size size"],
    failed: Int[Tensor, "matrix"],
) -> Float[Tensor, "matrix"]:
    """‖Y‖_F ‖L⁻¹‖_F, which no condition number of Y exceeds; ∞ where there is no L."""
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
    """Left singular vectors of the singular values above the tolerance; NaN where there are none.

    The decomposition does not converge on numbers that are not finite.
    """
    finite = matrices.isfinite().all(-1).all(-1)[:, None, None]
    vectors, values, _ = torch.linalg.svd(matrices.where(finite, 0), full_matrices=False)
    nonzero = values > values[:, :1] * tolerance[:, None]
    basis = torch.zeros_like(matrices)
    basis[..., : vectors.shape[-1]] = vectors * nonzero[:, None]
    return basis.where(finite, torch.nan), nonzero.sum(-1)


KeyRows = Float[Tensor, "*batch key head_dim"]


class DistinctRows(NamedTuple):
    """Groups of rows that are equal, bit by bit."""

    number: Int[Tensor, "*batch key"]
    """Number of the row among the distinct ones, in the order in which they come first."""
    present: Bool[Tensor, "*batch key"]
    """Mask of the rows that are neither padding nor zero."""
    new: Bool[Tensor, "*batch key"]
    """Mask of those that are the first of their kind."""


def distinct_rows(rows: KeyRows, real: Bool[Tensor, "*batch key"]) -> DistinctRows:
    """Find equal rows by sorting them by a number made of their bits.

    Two different rows between equal ones with the same number would hide these from one another,
    which costs time and changes nothing.

    Args:
        rows: float64.
        real: which of them count.
    """
    present = real & rows.any(-1)
    bits = (rows + 0.0).contiguous().view(torch.int64)  # + 0: the two zeros are one
    generator = torch.Generator().manual_seed(0)
    odd = torch.randint(1 << 62, rows.shape[-1:], generator=generator).to(bits.device) | 1
    key, order = (bits * odd).sum(-1).sort(dim=-1, stable=True)
    equal = key[..., 1:] == key[..., :-1]
    places = torch.arange(rows.shape[-2], device=rows.device).expand_as(key)
    first = places
    if equal.device.type != "cpu" or bool(equal.any()):  # a device is not waited for
        ordered = rows.gather(-2, order[..., None].expand_as(rows))
        equal &= (ordered[..., 1:, :] == ordered[..., :-1, :]).all(-1)
        begins = torch.cat([torch.ones_like(equal[..., :1]), ~equal], dim=-1)
        begins |= ~present.gather(-1, order)
        run = places.where(begins, 0).cummax(-1).values
        first = torch.empty_like(order).scatter_(-1, order, order.gather(-1, run))
    new = present & (first == places)
    return DistinctRows((new.cumsum(-1) - 1).gather(-1, first), present, new)


def averaged(
    alpha: Float[Tensor, "matrix sharing query key"],
    number: Int[Tensor, "matrix key"],
    present: Bool[Tensor, "matrix key"],
    most: int,
    first: int,
) -> Float[Tensor, "matrix sharing query key"]:
    """For each query the mean weight of the equal rows that it sees, under a causal mask.

    Args:
        alpha: α.
        number: of each row among the distinct ones.
        present: which rows are neither padding nor zero.
        most: how many distinct rows are looked at.
        first: the number of the first query.
    """
    used = present & (number < most)
    belongs = torch.nn.functional.one_hot(number.clamp(0, most - 1), most) * used[..., None]
    counts_so_far = belongs.cumsum(1)[:, None, first : first + alpha.shape[2]].clamp_min(1)
    member = belongs[:, None].to(torch.float64)
    return ((alpha.to(torch.float64) @ member / counts_so_far) @ member.mT).tril(first)
