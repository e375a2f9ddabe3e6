"""Effective attention: the part of attention that can change the output (Brunner et al. 2020).

T_h = [f_h(x_1); …] has at most head_dim independent rows.  The part of a row of attention in the
left null space of T_h changes no output.  T_h = V_h W_h has the left singular vectors and values of
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

from headlight.capture.record import last_keys
from headlight.measures.effective_causal import CausalNullSpace, CausalSpaces, is_causal
from headlight.measures.numerical_rank import AT_ONCE, row_space
from headlight.measures.vectors import compressed
from headlight.tensors import Factor, Score, Value, Visible, Weight, back_to

IN_CACHE = 1 << 19
"""Attention weights that are multiplied at once, so that their float64 copies stay in the cache."""

Rows = Float[Tensor, "batch head key head_dim"]


@dataclass(frozen=True, eq=False)
class Effective:
    """Effective attention and the rank that it rests on.

    Attributes:
        attention: Effective attention A⊥; rows need not sum to 1, entries may be negative.
        rank: Rank of T_h; one number per query, or one for all where all see the same keys.
    """

    attention: Score
    rank: Int[Tensor, "batch head #query"]


def effective(
    weight: Weight, value: Value, factor: Factor, width: int, visible: Visible | None = None
) -> Effective:
    """Compute A⊥ = A U Uᵀ, the component of A outside the left null space of T, for every head.

    A singular value of T_h counts as zero below s_max · max(keys, width) · ε of float64, per head:
    the rule of numpy for T_h itself.  Where all visible rows are independent, as in texts of at
    most head_dim tokens, A⊥ = A.  The null attention A∥ is A − A⊥.

    Args:
        weight: Weights α.
        value: Values v(x), with their bias unless that was subtracted (the paper's T has none).
        factor: Factor R_h of each head, float64.
        width: Number of columns of T, d_model.
        visible: Mask of the keys that each query may attend to; None for all.

    Source: Brunner et al. (2020), Section 3.4, Eq. 8-9.
    """
    return effective_of_rows(weight, compressed(value, factor), width, visible)


def effective_of_rows(
    weight: Weight, rows: Rows, width: int, visible: Visible | None = None
) -> Effective:
    """Compute effective attention from the rows of T in `compressed` coordinates."""
    return RowSpaces(rows, width, last_keys(visible)).effective(weight, visible)


class RowSpaces:
    """Spaces spanned by the rows of T of one layer, for all queries or for some after others.

    Args:
        rows: Rows of T, in `compressed` coordinates.
        width: Number of columns of T, d_model.
        real: Mask of the keys that the last query sees, where there are as many queries as keys.
        shared: Rows of V, where several heads share them and T has the same column space.
    """

    def __init__(
        self,
        rows: Rows,
        width: int,
        real: Bool[Tensor, "batch key"] | None,
        shared: Float[Tensor, "batch kv_head key columns"] | None = None,
    ) -> None:
        self.rows = rows
        self._shared_rows = shared
        self._width = width
        self._real = None if real is None else real.to(rows.device).expand(len(rows), -1)
        self._shared_by: tuple[Tensor, Tensor, Tensor] | None = None
        self._causal_by: dict[torch.dtype, CausalSpaces] = {}

    @torch.no_grad()
    def effective(
        self,
        weight: Weight,
        visible: Visible | None = None,
        precision: torch.dtype = torch.float64,
        first: int = 0,
    ) -> Effective:
        """Compute A⊥ of some queries, with the keys up to the last that one of them can see.

        Args:
            weight: Weights α.
            visible: Mask of the keys that each query may attend to; None for all.
            precision: Precision of the last two products.  float64 keeps the digits of small
                entries; with float32 an entry is exact to some 1e-7 of its row, which is enough for
                statistics.  Factors and the rank are always computed in float64.
            first: Number of the first query.
        """
        rows = self.rows
        # MPS has no float64, so the rows are on the CPU.
        alpha = weight.cpu() if weight.device.type == "mps" else weight
        if visible is not None:
            visible = visible.to(rows.device).expand(rows.shape[0], -1, -1)
        attention = torch.empty(alpha.shape, dtype=precision, device=rows.device)
        if visible is None or visible.shape[1] == 1:
            rank = self._fill_shared(alpha, visible, attention)
        elif self._real is not None and is_causal(visible, self._real, first):
            rank = self._causal(precision).fill(alpha, attention, first)
        else:
            visible_rows = rows[:, :, : alpha.shape[3]]
            rank = _per_query(alpha, visible_rows, visible, self._width, attention)
        return Effective(back_to(attention, weight.device), rank.to(weight.device))

    def shared_basis(
        self, visible: Visible, precision: torch.dtype = torch.float64
    ) -> tuple[Float[Tensor, "batch head key head_dim"], Int[Tensor, "batch head 1"]]:
        """Return U of A⊥ = A U Uᵀ where all queries see the same keys, and the rank.

        Args:
            visible: Mask of the keys that they see, of one row.
            precision: Precision that is enough for U.
        """
        basis, rank = self._basis_of(visible.to(self.rows.device), visible.shape[2], precision)
        return basis, rank[..., None]

    def causal_null_vectors(self, precision: torch.dtype = torch.float64) -> CausalNullSpace | None:
        """Return the null vectors of the keys that queries see under a causal mask.

        The text's last query sees `real` keys.  None where no vectors are exact enough; see
        `CausalSpaces.short_null_vectors`.

        Args:
            precision: Precision of the vectors.
        """
        return self._causal(precision).short_null_vectors()

    def ranks(self, visible: Visible | None, first: int = 0) -> Int[Tensor, "batch head #query"]:
        """Return the rank of T for some queries, or one for all where all see the same keys.

        Args:
            visible: Mask of keys, as in `effective`.
            first: Number of the first query.
        """
        if visible is None or visible.shape[1] == 1:
            visible_keys = None if visible is None else visible.to(self.rows.device)
            keys = self.rows.shape[2] if visible_keys is None else visible_keys.shape[2]
            return self._basis_of(visible_keys, keys)[1][..., None]
        shape = (self.rows.shape[0], self.rows.shape[1], *visible.shape[1:])
        nothing = torch.zeros(shape, dtype=self.rows.dtype, device=self.rows.device)
        return self.effective(nothing, visible, first=first).rank

    def _causal(self, precision: torch.dtype) -> CausalSpaces:
        if precision not in self._causal_by:
            assert self._real is not None  # noqa: S101 - the caller has asked
            self._causal_by[precision] = CausalSpaces(
                self.rows, self._real, self._width, self._shared_rows, precision
            )
        return self._causal_by[precision]

    def _fill_shared(self, alpha: Weight, visible: Visible | None, attention: Score) -> Tensor:
        """Fill `attention` where all queries see the same keys, and return the rank of each T."""
        basis, rank = self._basis_of(visible, alpha.shape[3], attention.dtype)
        basis = basis.to(attention.dtype)
        step = max(1, IN_CACHE // alpha[0].numel())
        for start in range(0, len(alpha), step):
            part = slice(start, start + step)
            inner = alpha[part].to(basis.dtype) @ basis[part]
            torch.matmul(inner, basis[part].mT, out=attention[part])
        return rank[..., None]

    def _basis_of(
        self, visible: Visible | None, keys: int, precision: torch.dtype = torch.float64
    ) -> tuple[Tensor, Tensor]:
        """Return basis and rank of the visible keys; those of the latest queries are kept."""
        rows = self.rows[:, :, :keys]
        visible_keys = torch.ones_like(rows[:, 0, None, :, 0], dtype=torch.bool)
        if visible is not None:
            visible_keys, rows = visible, rows * visible[:, :, :, None]
        shared = self._shared_by
        exact = (
            shared is not None and torch.finfo(shared[1].dtype).eps <= torch.finfo(precision).eps
        )
        if shared is None or not exact or not torch.equal(shared[0], visible_keys):
            present = visible_keys.expand(rows.shape[:3])
            basis, rank = row_space(rows, present, self._width, precision)
            shared = self._shared_by = (visible_keys, basis, rank)
        return shared[1:]


def _per_query(
    alpha: Weight, rows: Tensor, visible: Visible, width: int, attention: Score
) -> Tensor:
    """Fill `attention` where every query has a T of its own, and return the ranks."""
    ranks = []
    step = max(1, AT_ONCE // rows.numel())
    for start in range(0, alpha.shape[2], step):
        part = slice(start, start + step)
        visible_keys = visible[:, None, part].expand(-1, rows.shape[1], -1, -1)
        basis, rank = row_space(rows[:, :, None] * visible_keys[..., None], visible_keys, width)
        row = alpha[:, :, part, None].double()
        attention[:, :, part] = ((row @ basis) @ basis.mT).squeeze(-2)
        ranks.append(rank)
    return torch.cat(ranks, dim=2)
