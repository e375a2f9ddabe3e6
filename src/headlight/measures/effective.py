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
from jaxtyping import Float, Int
from torch import Tensor

from headlight.measures.causal import fill_causal, is_causal
from headlight.measures.norm import compressed
from headlight.measures.precision import back_to
from headlight.measures.row_space import AT_ONCE, row_space
from headlight.shapes import Factor, Score, Value, Visible, Weight

IN_CACHE = 1 << 19
"""Attention weights that are multiplied at once, so that their float64 copies stay in the cache."""


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
    elif is_causal(visible):
        rank = fill_causal(alpha, rows, visible[:, -1], width, attention)
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
