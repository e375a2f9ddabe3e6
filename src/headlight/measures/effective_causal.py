"""Effective attention under a causal mask, where every query has a T of its own.

The matrices of one head are nested: that of query i is that of query i − 1 and one more row.  So
one Cholesky factor says of all short beginnings whether their distinct rows are independent,
neighbouring queries share one where they see many rows, and only the remaining ones are decomposed
by themselves.  Heads that share their values share the spaces: T = V R has the columns of V where R
has full rank.
"""

from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture.deferred_checks import holds
from headlight.measures.causal_projections import (
    Members,
    NullVectors,
    Prefixes,
    Settled,
    Weights,
    null_vectors,
    project_singly,
    stable_null_vectors,
)
from headlight.measures.equal_rows import averaged, distinct_rows
from headlight.measures.numerical_rank import (
    AT_ONCE,
    ONE_PASS,
    ROUNDED,
    TWO_PASSES,
    inverse_factor,
    orthonormalised,
    row_space,
)
from headlight.tensors import Score, Visible, Weight

LONGEST = 3
"""Null vectors are quicker for texts of up to this many times head_dim tokens, which have few."""

Rows = Float[Tensor, "batch head key head_dim"]
Real = Bool[Tensor, "batch key"]


def is_causal(visible: Visible, real: Bool[Tensor, "batch key_of_text"], first: int = 0) -> bool:
    """Return whether every query sees exactly the real keys up to itself.

    Args:
        visible: Mask of some queries, with the keys up to the last that one of them sees.
        real: Mask of the keys that are not padding.
        first: Number of the first query.
    """
    visible_keys = real[:, None, : visible.shape[2]].expand_as(visible)
    return holds((visible == visible_keys.tril(first)).all())


def _places(chosen: Bool[Tensor, "matrix"], device: torch.device) -> Members:
    # A slice copies nothing.
    return slice(None) if bool(chosen.all()) else chosen.nonzero()[:, 0].to(device)


def _copy_to_host(*parts: Tensor) -> list[Tensor]:
    # One copy of all parts, so that the host waits for the device once.
    flat = torch.cat([part.flatten().long() for part in parts]).cpu()
    pieces = torch.split(flat, [part.numel() for part in parts])
    return [piece.view(part.shape) for piece, part in zip(pieces, parts, strict=True)]


class CausalNullSpace(NamedTuple):
    """Vectors u_k of A⊥_i = α_i − Σ ⟨α_i, u_k⟩ u_k, of which each query has those up to itself.

    Attributes:
        vectors: Unit vectors, ``batch space vector key``, one for each row that depends on those
            before it, in their order; zeros where a text has fewer.
        begins: Number of that row, ``batch space vector``: the first query that has the vector.
        rank: Rank of T for each query, ``batch head query``.
    """

    vectors: Float[Tensor, "batch space vector key"]
    begins: Int[Tensor, "batch space vector"]
    rank: Int[Tensor, "batch head query"]


class CausalSpaces:
    """Spaces spanned by the rows of T under a causal mask, for the queries of a layer in order.

    The host chooses the method for each query.  It waits for a device once in a layer, for the
    numbers of distinct rows and the texts with null vectors; where queries are left over, for these
    as well.

    Args:
        rows: Rows of T in `compressed` coordinates, float64.
        real: Mask of the keys that are not padding; query i sees those up to i.
        width: Number of columns of T, d_model, for the rank tolerance.
        shared: Rows whose beginnings span the same spaces, one matrix for each space that heads
            share.
        precision: Precision of the results.
    """

    def __init__(
        self,
        rows: Rows,
        real: Real,
        width: int,
        shared: Float[Tensor, "batch space key head_dim"] | None = None,
        precision: torch.dtype = torch.float64,
    ) -> None:
        self._rows = rows
        self._spanning = (rows if shared is None else shared) * real[:, None, :, None]
        self._precision = precision
        self._limit = ONE_PASS if precision == torch.float64 else ROUNDED
        self._sharing = rows.shape[1] // self._spanning.shape[1]
        self._real = real
        self._width = width
        size = rows.shape[-1]
        self._distinct = distinct_rows(
            self._spanning, real[:, None].expand(self._spanning.shape[:3])
        )
        self._count = self._distinct.new.cumsum(-1)
        token_counts = real.cumsum(-1)[:, None]
        self._merges = self._count < token_counts
        self._vectors: tuple[Tensor, Tensor] | None = None
        if rows.device.type != "cpu" and size < rows.shape[2] <= LONGEST * size:
            # Of all texts, so that the host is told at once which have them.
            self._vectors = null_vectors(self._spanning.flatten(0, 1), self._limit)
        parts = self._count, token_counts, *(self._vectors or ())[1:]
        self._host_count, self._host_seen, *self._host_certain = _copy_to_host(*parts)
        self._host_short = (self._host_count <= size).flatten(0, 1)
        self._rank = self._count.clamp(max=size).repeat_interleave(self._sharing, dim=1)

    def fill(
        self, alpha: Weight, attention: Score, first: int = 0
    ) -> Int[Tensor, "batch head query"]:
        """Fill `attention` with A⊥ and return the rank of the T of every query.

        Args:
            alpha: Weights α of some queries, with the keys up to the last that one of them sees.
            attention: Array that receives A⊥.
            first: Number of the first query.
        """
        part = slice(first, first + alpha.shape[2])
        short = self._host_short[:, part]
        copied = int(short.any(0).sum())
        attention[:, :, :copied] = alpha[:, :, :copied]  # all visible rows may be independent
        settled = self._beginnings[:, part].clone()
        shape = (len(settled), self._sharing, *alpha.shape[2:])
        weights, results = alpha.reshape(shape), attention.view(shape)
        self._merge(weights, results, settled, first)
        if not bool(short.all()):
            _, null = self._null_vectors
            if null is not None:
                null.fill(weights, results, settled, first)
            for prefixes in self._prefixes:
                prefixes.fill(weights, results, settled, first)
        rank = self._rank[:, :, part].clone()
        if holds(settled.all()):
            return rank
        unsettled = ~settled.cpu()
        if not bool(short.all()):
            basis, usable = self._basis
            able = usable.cpu()[:, None]
            single = (unsettled & ~short & able).nonzero()
            if len(single):
                project_singly(basis, single, weights, results, settled, first, self._limit)
                unsettled = ~settled.cpu()
            unsettled |= ~(short | able)
        chosen = unsettled.view(len(alpha), -1, alpha.shape[2]).repeat_interleave(
            self._sharing, dim=1
        )
        self._decompose(alpha, chosen.nonzero(), attention, rank, first)
        return rank

    def short_null_vectors(self) -> CausalNullSpace | None:
        """Return the null vectors of the keys that each query sees.

        None where it is not certain which rows depend on those before them.
        """
        batch, spaces, keys, size = self._spanning.shape
        rows = self._spanning.flatten(0, 1)
        independent = (self._distinct.new & (self._count <= size)).flatten(0, 1)
        dependent = self._real.repeat_interleave(spaces, 0) & ~independent
        rank, number = independent.sum(-1), dependent.sum(-1)
        most = int(number.max())
        # Independent rows first, then those that depend on them, and padding last.
        order = (2 - 2 * independent.byte() - dependent.byte()).argsort(dim=-1, stable=True)
        vectors = rows.new_zeros(len(rows), keys, most)
        quick = (rank == size) & (number > 0)
        if bool(quick.any()):
            members = _places(quick, rows.device)
            places = order[members, : size + most, None]
            units, certain = null_vectors(
                rows[members].gather(1, places.expand(-1, -1, size)), self._limit
            )
            spread = vectors[members].scatter(1, places.expand_as(units), units)
            vectors[members] = spread
            quick[quick.clone()] = certain  # a clone, as the mask is written to
        rest = (~quick).nonzero()[:, 0]
        if len(rest) and not bool(self._independent(rest).all()):
            return None
        for matrix in rest[number[rest] > 0].tolist():
            real_keys = self._real[matrix // spaces].nonzero()[:, 0]
            dependent_keys = dependent[matrix, real_keys].nonzero()[:, 0]
            vectors[matrix, real_keys, : len(dependent_keys)] = stable_null_vectors(
                rows[matrix, real_keys], dependent_keys
            )
        places = rank[:, None] + torch.arange(most)
        begins = torch.where(
            places < (rank + number)[:, None], order.gather(1, places.clamp_max(keys - 1)), keys
        )
        return CausalNullSpace(
            vectors.view(batch, spaces, keys, most).mT.to(self._precision),
            begins.view(batch, spaces, most),
            self._rank,
        )

    @cached_property
    def _beginnings(self) -> Settled:
        """Return the mask of queries with at most head_dim distinct rows, certainly independent."""
        certain = (self._count <= self._rows.shape[3]).flatten(0, 1)
        quick, _ = self._null_vectors
        if not bool(quick.all()):
            members = _places(~quick, certain.device)
            certain[members] &= self._independent(members)
        return certain

    def _independent(self, members: Members) -> Settled:
        """Return whether the distinct rows of each query, up to head_dim of them, are independent.

        The leading blocks of a Cholesky factor and of its inverse are those of the leading blocks.
        """
        rows = self._spanning.flatten(0, 1)[members]
        new = self._distinct.new.flatten(0, 1)[members]
        size = min(rows.shape[1:])
        order = (~new).byte().argsort(dim=-1, stable=True)[..., :size]
        first = rows.gather(1, order[..., None].expand(-1, -1, rows.shape[2]))
        scale = first.norm(dim=(-2, -1), keepdim=True)
        first = first / scale.clamp_min(torch.finfo(rows.dtype).tiny)
        # Ones in the place of rows that are not there keep their Gram matrix regular.
        padding = torch.diag_embed((~new.gather(1, order)).to(rows.dtype))
        inverse, failed = inverse_factor(first @ first.mT + padding)
        grown = torch.linalg.vector_norm(inverse, dim=-1).square().cumsum(-1).sqrt()
        certain = (grown < TWO_PASSES) & (failed == 0)[..., None]
        certain = torch.nn.functional.pad(certain, (1, 0), value=True)  # of no rows at all
        return certain.gather(-1, self._count.flatten(0, 1)[members].clamp(max=size))

    @cached_property
    def _basis(self) -> tuple[Float[Tensor, "matrix key head_dim"], Bool[Tensor, "matrix"]]:
        """Return the rows conditioned by the whole text, and for which spaces that is exact enough.

        They are not needed, and zero, where there are null vectors.
        """
        spanning, (quick, _) = self._spanning.flatten(0, 1), self._null_vectors
        members = _places(~quick, spanning.device)
        basis, usable = orthonormalised(spanning[members])
        basis = basis.where(usable[:, None, None], 0)
        if isinstance(members, slice):
            return basis, usable
        usable_of_all = torch.ones_like(spanning[:, 0, 0], dtype=torch.bool)
        usable_of_all[members] = usable
        return torch.zeros_like(spanning).index_copy_(0, members, basis), usable_of_all

    @cached_property
    def _null_vectors(self) -> tuple[Bool[Tensor, "matrix"], NullVectors | None]:
        """Return the matrices with null vectors: their first head_dim rows are independent."""
        size, keys = self._spanning.shape[3], LONGEST * self._spanning.shape[3]
        if self._vectors is not None:
            quick, (vectors, certain) = self._host_certain[0].bool(), self._vectors
            return quick, NullVectors(vectors.to(self._precision), certain, slice(None))
        real = self._host_seen[:, 0, -1].repeat_interleave(self._spanning.shape[1])
        quick = (self._starts == size) & (real > size) & (real <= keys)
        if self._spanning.device.type != "cpu" or not bool(quick.any()):
            return torch.zeros_like(quick), None
        members = _places(quick, self._spanning.device)
        rows = self._spanning.flatten(0, 1)[members, :keys]
        vectors, certain = null_vectors(rows, self._limit)
        quick[quick.clone()] = certain.cpu()
        return quick, NullVectors(vectors.to(self._precision), certain, members)

    @property
    def _starts(self) -> Int[Tensor, "matrix"]:
        starts: Tensor = self._host_short.sum(-1)
        return starts

    @cached_property
    def _prefixes(self) -> list[Prefixes]:
        """Return the other matrices with more distinct rows than columns, by their first query."""
        rows, _ = self._basis
        quick, _ = self._null_vectors
        starts = self._starts
        prefixes = []
        for start in sorted(set(starts[~quick].tolist())):
            if start < rows.shape[1]:
                members = _places((starts == start) & ~quick, rows.device)
                prefixes.append(Prefixes(rows[members], members, start, self._limit))
        return prefixes

    def _merge(self, weights: Weights, results: Weights, settled: Settled, first: int) -> None:
        """Merge equal rows, or rows of zeros, of queries that see few other rows."""
        part = slice(first, first + weights.shape[2])
        merges = settled & self._merges[:, :, part].flatten(0, 1)
        may_merge = self._host_short & (self._host_count < self._host_seen).flatten(0, 1)
        may_merge = may_merge[:, part]
        if not bool(may_merge.any()):
            return
        some = may_merge.any(-1).nonzero()[:, 0].to(merges.device)
        number, present, _ = (field.flatten(0, 1)[some] for field in self._distinct)
        queries = int(may_merge.any(0).nonzero().max()) + 1
        keys = min(first + queries, weights.shape[3])
        alpha, chosen = weights[some, :, :queries, :keys], merges[some, None, :queries, None]
        means = averaged(alpha, number[:, :keys], present[:, :keys], self._rows.shape[3], first)
        results[some, :, :queries, :keys] = means.where(chosen, alpha).to(results.dtype)

    def _decompose(
        self,
        alpha: Weight,
        places: Int[Tensor, "place 3"],
        attention: Score,
        rank: Int[Tensor, "batch head query"],
        first: int,
    ) -> None:
        """Decompose a matrix for each query that is left; places are on the host."""
        if not len(places):
            return
        # Mostly they are the first that see more than head_dim rows, so later keys are left out.
        keys = min(first + int(places[:, 2].max()) + 1, alpha.shape[3])
        rows, real = self._rows[:, :, :keys], self._real[:, :keys]
        numbers = torch.arange(keys, device=rows.device)
        step = max(1, AT_ONCE // rows[0, 0].numel())
        for some in torch.split(places, step):
            batch, head, query = some.to(rows.device).unbind(1)
            usable = real[batch] & (numbers <= first + query[:, None])
            basis, ranks = row_space(rows[batch, head] * usable[..., None], usable, self._width)
            row = alpha[batch, head, query, :keys][:, None].to(basis.dtype)
            projected = (row @ basis) @ basis.mT
            attention[batch, head, query, :keys] = projected[:, 0].to(attention.dtype)
            rank[batch, head, query] = ranks
