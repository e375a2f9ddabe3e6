"""Effective attention and the null space of a head's values (Brunner et al. 2020, Section 3).

Effective attention: the part of attention that can change the output (Brunner et al. 2020).
T_h = [f_h(x_1); …] has at most head_dim independent rows.  What part of a row of attention lies in
the left null space of T_h moves nothing.  T_h = V_h W_h has the left singular vectors and values of
V_h R_h (W_h = R_h Q_h), a key × head_dim matrix, so T_h is never formed.

Everything is float64: in float32, T_h has full numerical rank, effective attention then equals raw
attention, and the phenomenon vanishes without a warning.

A query that may not attend to a key cannot move weight there either.  So T_h consists of the rows
that a query can see: all of them in an encoder, those up to the query itself under a causal mask.

Null spaces of a head: attention that its output does not show (Brunner et al. 2020, Section 3).
The output is A T, with T = [f(x_1); …] of at most head_dim independent rows.  A change of a row of
A by anything in the left null space LN(T) goes unnoticed.  A change by anything in LN([T, 1]), T
with a column of ones, leaves the sum of the row as it is too: small ones stay distributions.

Correlation of effective attention with raw attention (Brunner et al. 2020, Figure 1a).
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.measures.causal import CausalSpaces, is_causal
from headlight.measures.norm import compressed
from headlight.measures.row_space import AT_ONCE, row_space
from headlight.tensors import Factor, Score, Value, Visible, Weight, back_to, double, single

IN_CACHE = 1 << 19
"""Attention weights that are multiplied at once, so that their float64 copies stay in the cache."""


Rows = Float[Tensor, "batch head key head_dim"]


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
    weight: Weight, rows: Rows, width: int, visible: Visible | None = None
) -> Effective:
    """Compute effective attention from the rows of T in `compressed` coordinates."""
    return RowSpaces(rows, width, real_keys(visible)).effective(weight, visible)


def real_keys(visible: Visible | None) -> Bool[Tensor, "batch key"] | None:
    """Return the keys that the last query sees, if there are as many queries as keys."""
    if visible is None or visible.shape[1] != visible.shape[2]:
        return None
    return visible[:, -1]


class RowSpaces:
    """The spaces that the rows of T of one layer span, for all queries or for some after others.

    Args:
        rows: of T, in `compressed` coordinates.
        width: d_model, the number of columns of T.
        real: which keys the last query sees, where there are as many queries as keys.
        shared: the rows of V, where several heads share them and T has the same column space.
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
        """A⊥ of some queries, with the keys up to the last that one of them can see.

        Args:
            weight: α.
            visible: which keys each query may attend to; None for all.
            precision: of the last two products.  float64 keeps the digits of small entries; with
                float32 an entry is exact to some 1e-7 of its row, which statistics do not notice.
                Factors and the rank always come from float64.
            first: the number of the first query.
        """
        rows = self.rows
        alpha = weight.cpu() if weight.device.type == "mps" else weight
        if visible is not None:
            visible = visible.to(rows.device).expand(rows.shape[0], -1, -1)
        attention = torch.empty(alpha.shape, dtype=precision, device=rows.device)
        if visible is None or visible.shape[1] == 1:
            rank = self._shared(alpha, visible, attention)
        elif self._real is not None and is_causal(visible, self._real, first):
            rank = self._causal(precision).fill(alpha, attention, first)
        else:
            visible_rows = rows[:, :, : alpha.shape[3]]
            rank = _per_query(alpha, visible_rows, visible, self._width, attention)
        return Effective(back_to(attention, weight.device), rank.to(weight.device))

    def ranks(self, visible: Visible | None, first: int = 0) -> Int[Tensor, "batch head #query"]:
        """The rank of T for some queries, or one for all where all see the same keys.

        Args:
            visible: as in `effective`.
            first: as in `effective`.
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

    def _shared(self, alpha: Weight, visible: Visible | None, attention: Score) -> Tensor:
        """Every query sees the same keys: one T per head.  Fills `attention`, returns the rank."""
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
        """Basis and rank of the keys that are seen; those of the latest queries are kept."""
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
    """Every query has a T of the rows that it sees.  Fills `attention`, returns the ranks."""
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


@dataclass(frozen=True, eq=False)
class NullSpaces:
    """Ranks and null spaces, for every query, or one for all where all see the same keys.

    Attributes:
        keys: how many keys the query sees: d_s.
        rank: of T.
        rank_with_ones: of [T, 1].
        head_dim: d_v.
    """

    keys: Int[Tensor, "batch #query"]
    rank: Int[Tensor, "batch head #query"]
    rank_with_ones: Int[Tensor, "batch head #query"]
    head_dim: int

    @property
    def dimension(self) -> Int[Tensor, "batch head #query"]:
        """Return the dimension of LN(T): d_s − rank(T)."""
        return self.keys[:, None] - self.rank

    @property
    def dimension_with_ones(self) -> Int[Tensor, "batch head #query"]:
        """Return the dimension of LN([T, 1]), in which alternatives within the simplex lie."""
        return self.keys[:, None] - self.rank_with_ones

    @property
    def bound(self) -> Int[Tensor, "batch #query"]:
        """Return max(d_s − d_v, 0), which dim LN(T) cannot be below.

        Source: Brunner et al. (2020), Section 3.2, Eq. 6.
        """
        return (self.keys - self.head_dim).clamp_min(0)

    @property
    def bound_with_ones(self) -> Int[Tensor, "batch #query"]:
        """Return max(d_s − d_v − 1, 0), the same for LN([T, 1])."""
        return (self.keys - self.head_dim - 1).clamp_min(0)


def with_ones(
    rows: Float[Tensor, "batch head key head_dim"],
) -> Float[Tensor, "batch head key columns"]:
    """[T, 1] in as many columns as it needs, T and the column being of one length.

    The column space, and so the left null space, is that of [T, 1] with T in d_model columns, and
    with the value bias or without it: the bias adds a multiple of the column of ones to the others.
    """
    length = rows.norm(dim=(-2, -1), keepdim=True)
    scaled = rows / length.clamp_min(torch.finfo(rows.dtype).tiny)
    ones = torch.full_like(rows[..., :1], rows.shape[-2] ** -0.5)
    return torch.cat([scaled, ones], dim=-1)


def null_spaces(
    rows: Float[Tensor, "batch head key head_dim"], width: int, visible: Visible | None = None
) -> NullSpaces:
    """Ranks and null spaces of T and [T, 1] for every head, on the keys that each query sees.

    A singular value counts as zero below s_max · max(keys, columns) · ε of float64, as in numpy's
    ``matrix_rank``.

    Args:
        rows: of T, as `headlight.measures.norm.compressed` gives them, float64.
        width: d_model, the number of columns of T.
        visible: which keys each query may attend to; None for all.

    Source: Brunner et al. (2020), Sections 3.2 and 3.3, Eq. 4 and 6.
    """
    real = real_keys(visible)
    spaces = RowSpaces(rows, width, real), RowSpaces(with_ones(rows), width + 1, real)
    return null_spaces_of(*spaces, visible)


def null_spaces_of(
    spaces: RowSpaces,
    spaces_with_ones: RowSpaces,
    visible: Visible | None,
    *,
    first: int = 0,
    rank: Int[Tensor, "batch head #query"] | None = None,
) -> NullSpaces:
    """Return the null spaces of some queries, from the spaces of a layer.

    Args:
        spaces: those that the rows of T span.
        spaces_with_ones: those of [T, 1].
        visible: which keys each of these queries may attend to, up to the last that one of them
            sees; None for all.
        first: the number of the first query.
        rank: of T, where it is known already.
    """
    rows = spaces.rows
    visible_keys = torch.ones_like(rows[:, 0, None, :, 0], dtype=torch.bool)
    if visible is not None:
        visible_keys = visible.to(rows.device).expand(rows.shape[0], -1, -1)
    return NullSpaces(
        keys=visible_keys.sum(-1),
        rank=spaces.ranks(visible, first) if rank is None else rank.to(rows.device),
        rank_with_ones=spaces_with_ones.ranks(visible, first),
        head_dim=rows.shape[-1],
    )


CONSTANT = 1e-4
"""Below this share of the mean square values count as constant.

Effective attention may come out of float32, where an entry is exact to 1e-7 of its row, and Σy²
stands for Σxy: at this share correlations are those of float64 to 1e-4, at a hundredth of it to
1e-1.  Attention of such a head differs by less than a hundredth from key to key.
"""


def comoments(
    raw: Weight,
    effective: Score,
    visible: Visible | None,
    present: Float[Tensor, "batch query"],
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "batch head sum=5"]:
    """n, Σx, Σy, Σx² and Σy² of raw (x) and effective (y) attention over visible cells.

    Σxy is Σy², because y is a projection of x: ⟨a, P a⟩ = ⟨P a, P a⟩. Cells that cannot be seen
    are zero in both and add nothing but to n.

    Args:
        raw: α.
        effective: A⊥ of it.
        visible: which keys each query may attend to; None for all.
        present: 1 for queries, 0 for padding.
        lengths: keys of each text, padding left out.
    """
    rows = moments_by_row(sums_by_row(raw), sums_by_row(effective), visible, lengths)
    return summed(rows, present)


RowSums = tuple[Float[Tensor, "batch head query"], Float[Tensor, "batch head query"]]
"""The sum of each row, and that of its squares, in float64."""


def sums_by_row(score: Score) -> RowSums:
    """Return the sums of numbers of at least float32."""
    score = single(score)
    return double(score.sum(-1)), double(score.norm(dim=-1)).square()


def moments_by_row(
    raw: RowSums, effective: RowSums, visible: Visible | None, lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch head query sum=5"]:
    """Return the five sums of each row."""
    visible_counts = lengths[:, None] if visible is None else visible.sum(-1)
    count = double(visible_counts).to(raw[0].device)[:, None].expand(raw[0].shape)
    return torch.stack([count, raw[0], effective[0], raw[1], effective[1]], dim=-1)


def summed(
    rows: Float[Tensor, "batch head query sum=5"], present: Float[Tensor, "batch query"]
) -> Float[Tensor, "batch head sum=5"]:
    """Return the sums of all rows that are not padding."""
    return (rows * present.to(rows.device)[:, None, :, None]).sum(2)


def correlation(sums: np.ndarray) -> np.ndarray:
    """Pearson's r of x with its projection y, from `comoments`; NaN if one is constant."""
    n, x, y, xx, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = xx - x * x / n, yy - y * y / n
        r = (yy - x * y / n) / np.sqrt(first * second)
    varies = (first > CONSTANT * xx) & (second > CONSTANT * yy)
    return np.clip(np.where(varies, r, np.nan), -1.0, 1.0)
