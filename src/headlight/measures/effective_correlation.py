"""Correlation of effective attention with raw attention (Brunner et al. 2020, Figure 1a)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.tensors import Score, Visible, Weight, double, single

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
    """Return n, Σx, Σy, Σx² and Σy² of raw (x) and effective (y) attention over visible cells.

    Σxy is Σy², because y is a projection of x: ⟨a, P a⟩ = ⟨P a, P a⟩. Cells that cannot be seen
    are zero in both and add nothing but to n.

    Args:
        raw: Weights α.
        effective: Effective attention A⊥ of these weights.
        visible: Mask of the keys that each query may attend to; None for all.
        present: Indicator of queries: 1, or 0 for padding.
        lengths: Number of keys of each text, without padding.
    """
    counts = None if visible is None else visible.sum(-1)
    rows = moments_by_row(sums_by_row(raw), sums_by_row(effective), counts, lengths)
    return summed(rows, present)


RowSums = tuple[Float[Tensor, "batch head query"], Float[Tensor, "batch head query"]]
"""The sum of each row, and that of its squares, in float64."""


def sums_by_row(score: Score) -> RowSums:
    """Return the sums of each row, taken in float32 or better."""
    score = single(score)
    return double(score.sum(-1)), double(score.norm(dim=-1)).square()


def moments_by_row(
    raw: RowSums,
    effective: RowSums,
    counts: Int[Tensor, "batch #query"] | None,
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "batch head query sum=5"]:
    """Return the five sums of each row.

    Args:
        raw: Sums of the rows of α.
        effective: Sums of the rows of A⊥.
        counts: Number of keys that each query sees; None where all see all.
        lengths: Number of keys of each text.
    """
    count = (
        double(lengths[:, None] if counts is None else counts)
        .to(raw[0].device)[:, None]
        .expand(raw[0].shape)
    )
    return torch.stack([count, raw[0], effective[0], raw[1], effective[1]], dim=-1)


def summed(
    rows: Float[Tensor, "batch head query sum=5"], present: Float[Tensor, "batch query"]
) -> Float[Tensor, "batch head sum=5"]:
    """Return the sums of all rows that are not padding."""
    return (rows * present.to(rows.device)[:, None, :, None]).sum(2)


def correlation(sums: np.ndarray) -> np.ndarray:
    """Compute Pearson's r of x with its projection y from `comoments`; NaN if one is constant."""
    n, x, y, xx, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = xx - x * x / n, yy - y * y / n
        r = (yy - x * y / n) / np.sqrt(first * second)
    varies = (first > CONSTANT * xx) & (second > CONSTANT * yy)
    return np.clip(np.where(varies, r, np.nan), -1.0, 1.0)
