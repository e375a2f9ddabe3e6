"""Rows of T that are equal, as in layer 0 those of one token that stands at several places.

A projection that cannot tell equal rows apart gives them the mean of their weights; if the distinct
rows are independent, A⊥ is that mean.  Rows of zeros get nothing.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

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
        rows: Rows, float64.
        real: Mask of the rows that count.
    """
    present = real & rows.any(-1)
    bits = (rows + 0.0).contiguous().view(torch.int64)  # + 0: the two zeros are one
    generator = torch.Generator().manual_seed(0)
    # Products with odd numbers are one-to-one modulo 2^64, so that every bit of a row counts.
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
    """Return the mean weight of the equal rows that each query sees, under a causal mask.

    Args:
        alpha: Weights α.
        number: Number of each row among the distinct ones.
        present: Mask of the rows that are neither padding nor zero.
        most: Number of distinct rows considered, the first ones.
        first: Number of the first query.
    """
    used = present & (number < most)
    belongs = torch.nn.functional.one_hot(number.clamp(0, most - 1), most) * used[..., None]
    counts_so_far = belongs.cumsum(1)[:, None, first : first + alpha.shape[2]].clamp_min(1)
    member = belongs[:, None].to(torch.float64)
    return ((alpha.to(torch.float64) @ member / counts_so_far) @ member.mT).tril(first)
