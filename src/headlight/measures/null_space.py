"""Null spaces of a head: attention that its output does not show (Brunner et al. 2020, Section 3).

The output is A T, with T = [f(x_1); …] of at most head_dim independent rows.  A change of a row of
A by anything in the left null space LN(T) goes unnoticed.  A change by anything in LN([T, 1]), T
with a column of ones, leaves the sum of the row as it is too: small ones stay distributions.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.capture.record import last_keys
from headlight.measures.effective import RowSpaces
from headlight.tensors import Visible


@dataclass(frozen=True, eq=False)
class NullSpaces:
    """Ranks and null spaces for every query, or one for all where all see the same keys.

    Attributes:
        keys: Number of keys that the query sees, d_s.
        rank: Rank of T.
        rank_with_ones: Rank of [T, 1].
        head_dim: Dimension of the values of a head, d_v.
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
        """Return max(d_s − d_v, 0), a lower bound of dim LN(T).

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
    """Return [T, 1] in as many columns as it needs, T and the column being of one length.

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
    """Compute ranks of T and [T, 1] and their null spaces, on the keys that each query sees.

    A singular value counts as zero below s_max · max(keys, columns) · ε of float64, as in numpy's
    ``matrix_rank``.

    Args:
        rows: Rows of T, as `headlight.measures.vectors.compressed` gives them, float64.
        width: Number of columns of T, d_model.
        visible: Mask of the keys that each query may attend to; None for all.

    Source: Brunner et al. (2020), Sections 3.2 and 3.3, Eq. 4 and 6.
    """
    real = last_keys(visible)
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
        spaces: Spaces that the rows of T span.
        spaces_with_ones: Spaces that the rows of [T, 1] span.
        visible: Mask of the keys that each of these queries may attend to, up to the last that one
            of them sees; None for all.
        first: Number of the first query.
        rank: Rank of T, where it is known already.
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
