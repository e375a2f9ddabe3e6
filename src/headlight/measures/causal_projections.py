"""Projections of attention onto the rows that each query sees under a causal mask.

The matrices of one head are nested: that of query i is that of query i − 1 and one more row.  So
neighbouring queries share a factor where they see many rows, components along null vectors are
subtracted in short texts, and single queries have a factor of their own.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headlight.capture.deferred_checks import holds
from headlight.measures.numerical_rank import AT_ONCE, ONE_PASS, inverse_factor, orthonormalised

Members = slice | Tensor
Weights = Float[Tensor, "matrix sharing query key"]
Settled = Bool[Tensor, "matrix query"]


def null_vectors(
    rows: Float[Tensor, "matrix key head_dim"], limit: float = ONE_PASS
) -> tuple[Float[Tensor, "matrix key null"], Bool[Tensor, "matrix"]]:
    """Return the unit vectors that rows add to the left null space, and where they are exact.

    Where the first head_dim rows F are independent, each row b that follows adds one: it ends there
    and is orthogonal to those before it.  With C = B F⁻¹ and I + C Cᵀ = L Lᵀ these vectors are the
    rows of L⁻¹ (−C, I).

    Args:
        rows: Rows of the whole text; zero where there is no token.
        limit: Bound of the growth of errors (its square bounds the product of two factors).
    """
    size = rows.shape[2]
    # Unlike `inv`, it neither raises for a singular matrix nor waits for the device to find out.
    inverse, failed = torch.linalg.inv_ex(rows[:, :size])
    shares = rows[:, size:] @ inverse
    identity = torch.eye(shares.shape[1], dtype=rows.dtype, device=rows.device)
    within, _ = inverse_factor(torch.baddbmm(identity, shares, shares.mT))
    length = shares.norm(dim=(-2, -1))
    condition = rows[:, :size].norm(dim=(-2, -1)) * inverse.norm(dim=(-2, -1))
    certain = (failed == 0) & (length < limit) & (condition * length < limit**2)
    vectors = torch.cat([-(within @ shares), within], 2)
    return vectors.where(certain[:, None, None], 0).mT, certain


def stable_null_vectors(
    rows: Float[Tensor, "key head_dim"], dependent: Int[Tensor, " null"]
) -> Float[Tensor, "key null"]:
    """Return the unit vectors that dependent rows of one matrix add to the left null space.

    Each ends at its row, and is orthogonal to those before it.  They are a basis of the null space
    of the whole text, turned until it has the form of a stair.  Errors grow by the condition number
    of its rows, not by its square as in `null_vectors`; it takes many times as long.

    Args:
        rows: Rows of the text, whose other rows are independent.
        dependent: Places of the rows that depend on those before them, in ascending order.
    """
    rank = len(rows) - len(dependent)
    if rank == rows.shape[1]:
        whole = torch.linalg.qr(rows, mode="complete").Q
    else:  # of which the factor Q spans more than the rows do
        whole = torch.linalg.svd(rows).U
    null = whole[:, rank:]
    turn = torch.linalg.qr(null[dependent].flip(0).mT).Q
    vectors: Tensor = (null @ turn).flip(1)
    return vectors


class NullVectors:
    """A⊥ of short texts: α without its components along null vectors of the rows that a query sees.

    A⊥_i = α_i − Σ_{k≤i} ⟨α_i, u_k⟩ u_k takes two products for all queries of a text.

    Args:
        vectors: Vectors u_k from `null_vectors`, in the precision of the results.
        certain: Mask of the matrices whose vectors are exact enough.
        members: Places of these matrices among all.
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
            weights: Weights of all matrices.
            results: Results of all matrices; inexact numbers are overwritten as well.
            settled: Mask that becomes true where results are exact enough, and false elsewhere.
            first: Number of the first query.
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
        # A query has only those null vectors that end at its row or before.
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
        rows: Rows of all matrices, orthonormalised over the whole text.
        places: Matrix and query of each projection, on the host.
        weights: Weights of all matrices.
        results: Array that receives the projections.
        settled: Mask that becomes true where projections are exact enough.
        first: Number of the first query.
        limit: Condition number from which on there are two passes.
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


BLOCK = 32
"""Queries that share a factor."""

SHARE = 2
"""Queries are projected together where they are fewer than this part of those before them."""

GROWN = 2
"""Factor by which rounding errors of rows may grow for products in float32 to be exact enough."""

SeenWeights = Float[Tensor, "matrix sharing query seen"]


class Prefixes:
    """The beginnings of some matrices, all of full column rank from the same row on.

    Args:
        rows: Rows orthonormalised over the whole text, so that a beginning is little worse than a
            sample of the whole, and no singular value of it is above 1.
        members: Places of these matrices among all.
        start: First query whose matrix has more distinct rows than columns.
        limit: Condition number up to which a factor is exact enough.
    """

    def __init__(
        self,
        rows: Float[Tensor, "matrix key head_dim"],
        members: Members,
        start: int,
        limit: float = ONE_PASS,
    ) -> None:
        self._rows = rows
        self._members = members
        self._start = start
        self._limit = limit
        self._gram: Tensor | None = None
        self._counted = 0

    def fill(self, weights: Weights, results: Weights, settled: Settled, first: int) -> None:
        """Fill `results` with projections, and note where they are exact enough.

        Args:
            weights: Weights of all matrices.
            results: Results of all matrices; inexact numbers are overwritten as well.
            settled: Mask that becomes true where results are exact enough.
            first: Number of the first query.
        """
        end = min(first + weights.shape[2], self._rows.shape[1])
        low, members = max(self._start, first), self._members
        while low < end:
            high = min(low + max(BLOCK, low // SHARE), end)
            block = slice(low - first, high - first)
            target = results[members, :, block]  # a copy, where these are some of the matrices
            settled[members, block] = self._fill(target, weights[members, :, block, :high], low)
            if not isinstance(members, slice):
                results[members, :, block] = target
            low = high

    def _fill(self, target: Weights, alpha: SeenWeights, low: int) -> Settled:
        """Fill `target` with the projections of `alpha`, and return where they are exact enough.

        Products in float32 are taken in coordinates in which the rows up to the last query are
        orthonormal, and if those of fewer rows are nearly so: there rounding errors hardly grow.
        """
        high, size = low + alpha.shape[2], self._rows.shape[2]
        rows = self._rows[:, :high]
        gram, last = self._gram_until(low + 1), self._gram_until(high)
        exact = None
        if target.dtype != torch.float64 and low >= self._start + size:
            inverse, failed = inverse_factor(last)
            length = torch.linalg.vector_norm(inverse, dim=(-2, -1))
            usable = (length < self._limit) & (failed == 0)
            inverse = inverse.where(usable[:, None, None], 0)
            turned, limit = inverse @ gram @ inverse.mT, GROWN * size**0.5
            exact = _project(target, alpha, rows @ inverse.mT, turned, low, limit)
            if holds(exact.all()):
                return exact
        wide = torch.empty_like(target, dtype=torch.float64)
        certain = _project(wide, alpha.double(), rows, gram, low, self._limit)
        target.copy_(wide if exact is None else target.where(exact[:, None, :, None], wide))
        return certain

    def _gram_until(self, count: int) -> Float[Tensor, "matrix head_dim head_dim"]:
        """Return YᵀY of the first `count` rows, by adding later rows to the last result."""
        flat = self._rows
        if self._gram is None or count < self._counted:
            self._gram, self._counted = torch.zeros_like(flat[:, :1].mT @ flat[:, :1]), 0
        if count > self._counted:
            later = flat[:, self._counted : count]
            self._gram = torch.baddbmm(self._gram, later.mT, later)
            self._counted = count
        return self._gram


def _project(
    target: Weights,
    alpha: SeenWeights,
    rows: Float[Tensor, "matrix seen head_dim"],
    gram: Float[Tensor, "matrix head_dim head_dim"],
    low: int,
    limit: float,
) -> Settled:
    """Fill in a_i Y (YᵢᵀYᵢ)⁻¹ Yᵢᵀ for some queries, and return where it is exact enough.

    All queries of a cell see the rows up to the first of them, whose Gram matrix is L Lᵀ.  In
    coordinates y L⁻ᵀ that is the identity, to which every query adds the outer products of the
    rows W that follow.  By Woodbury's identity the inverse needs (I + W Wᵀ)⁻¹, of whose factor
    each query takes its leading block.

    Args:
        target: Array to fill, over all keys.
        alpha: Weights α in any precision; products with all rows have that of `target`, others
            are in float64.
        rows: Rows up to the last query.
        gram: Gram matrix of the rows up to the first query.
        low: Number of the first query.
        limit: Bound of the length of L⁻¹, by which rounding errors grow.
    """
    matrices, sharing, queries, high = alpha.shape
    cells = -(-queries // BLOCK)
    later = nn.functional.pad(rows[:, low + 1 :], (0, 0, 0, low + 1 + cells * BLOCK - high))
    later = later.view(matrices, cells, BLOCK, -1)
    grown = nn.functional.pad((later[:, :-1].mT @ later[:, :-1]).cumsum(1), (0, 0, 0, 0, 1, 0))
    inverse, failed = inverse_factor(gram[:, None] + grown)
    certain = (torch.linalg.vector_norm(inverse, dim=(-2, -1)) < limit) & (failed == 0)
    # Infinities of a failed factor would spread as NaN through the products of its cell.
    inverse = inverse.where(certain[..., None, None], 0)
    later = later[:, :, :-1] @ inverse.mT
    identity = torch.eye(BLOCK - 1, dtype=later.dtype, device=later.device)
    factor, _ = inverse_factor(identity + later @ later.mT)
    rows = rows.to(target.dtype)
    inner = (
        (alpha.to(target.dtype).flatten(1, 2) @ rows).double().view(matrices, sharing, queries, -1)
    )
    inner = nn.functional.pad(inner, (0, 0, 0, cells * BLOCK - queries))
    inner = inner.view(matrices, sharing, cells, BLOCK, -1).transpose(1, 2).flatten(2, 3)
    inner = inner @ inverse.mT
    # Query q of a cell sees q of the rows that follow the first.
    products = inner @ later.mT @ factor.mT
    products = products.view(matrices, cells, sharing, BLOCK, -1).tril(-1)
    inner = (inner - products.flatten(2, 3) @ factor @ later) @ inverse
    inner = inner.view(matrices, cells, sharing, BLOCK, -1).transpose(1, 2).flatten(2, 3)
    for head, of_head in enumerate(inner[:, :, :queries].to(rows.dtype).unbind(1)):
        torch.bmm(of_head, rows.mT, out=target[:, head, :, :high])
    target[..., low:high].tril_()
    target[..., high:] = 0
    exact: Settled = certain.repeat_interleave(BLOCK, 1)[:, :queries]
    return exact
