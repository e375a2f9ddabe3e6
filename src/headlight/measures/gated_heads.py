"""Norms and effective attention where the context is multiplied by a gate before W^O.

The output of a head is g_i ⊙ Σ_j α_ij v_j, projected.  A gate that is one number for each query and
head scales α; with a vector, f depends on the query: f(x_j; i) = (g_i ⊙ v_j) W.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.measures.numerical_rank import AT_ONCE, row_space
from headlight.measures.vectors import per_head
from headlight.tensors import (
    Factor,
    GateValues,
    OutputWeight,
    Score,
    Value,
    Visible,
    Weight,
    back_to,
    double,
    single,
)

Sample = Bool[Tensor, "batch query"]
"""Mask of the requested queries."""

Closed = Bool[Tensor, "batch head query"]
"""Mask of the queries whose T is not that of all queries."""


def gated_weight(weight: Weight, gate: GateValues | None) -> Weight:
    """Multiply weights by g if that is a number for each query and head; float32 or better."""
    weight = single(weight)
    return weight if gate is None or gate.shape[-1] > 1 else weight * single(gate)


def gated_norm(
    weight: Weight,
    value: Value,
    gate: GateValues,
    factor: Factor,
    precision: torch.dtype,
    sample: Sample | None = None,
) -> Score:
    """Compute ‖α_ij f(x_j; i)‖ with f(x_j; i) = (g_i ⊙ v_j) W, by one product for every query.

    Args:
        weight: Weights α.
        value: Values v(x), value bias included.
        gate: Gate g.
        factor: Factor R_h of each head.
        precision: Precision of the products.
        sample: Mask of the requested queries; the rows of others are 0.  None for all.

    Returns:
        Norms ≥ 0, float32 or better.
    """
    if sample is not None:
        rows, part_of_weight, part_of_gate = _take_sample(sample, weight, gate)
        some = gated_norm(part_of_weight, value, part_of_gate, factor, precision)
        return _spread(some, rows, sample[:, None])
    norms = torch.zeros_like(single(weight))
    value = _cast(per_head(value, weight.shape[1]), precision)
    factor = factor.to(value)
    for part, keys in _parts(weight, value[0].numel()):
        rows = _cast(gate[:, :, part], precision)[:, :, :, None] * value[:, :, None, :keys]
        length = (rows @ factor[:, None]).norm(dim=-1)
        norms[:, :, part, :keys] = back_to(length, weight.device) * weight[:, :, part, :keys].abs()
    return norms


def gated_merged_norm(
    weight: Weight,
    value: Value,
    gate: GateValues,
    output: OutputWeight,
    precision: torch.dtype,
    sample: Sample | None = None,
) -> Float[Tensor, "batch query key"]:
    """Compute ‖Σ_h α_hij f_h(x_j; i)‖ by definition; arguments as in `gated_norm`, with W^O."""
    if sample is not None:
        rows, part_of_weight, part_of_gate = _take_sample(sample, weight, gate)
        some = gated_merged_norm(part_of_weight, value, part_of_gate, output, precision)
        return _spread(some[:, None], rows, sample[:, None])[:, 0]
    norms = torch.zeros_like(single(weight[:, 0]))
    value = _cast(per_head(value, weight.shape[1]), precision)
    blocks = _cast(output, precision).flatten(0, 1)
    for part, keys in _parts(weight, value[0, 0, :, 0].numel() * blocks.numel() // len(output)):
        scaled = _cast(gate[:, :, part], precision)[:, :, :, None] * value[:, :, None, :keys]
        scaled *= _cast(weight[:, :, part, :keys], precision)[..., None]
        length = (scaled.permute(0, 2, 3, 1, 4).flatten(3) @ blocks).norm(dim=-1)
        norms[:, part, :keys] = back_to(length, weight.device)
    return norms


def have_own_space(gate: GateValues, factor: Factor) -> Closed:
    """Return the queries whose T_i may span another space: by a gate of zero or a W of lower rank.

    The columns of V diag(g_i) span those of V where no gate is zero, and those of V W span those
    of V where W has full rank.
    """
    full = torch.linalg.matrix_rank(double(factor)) == factor.shape[-1]
    queries_apart: Closed = (gate == 0).any(-1) | ~full.to(gate.device)[:, None]
    return queries_apart


def effective_of_gated(
    weight: Weight,
    value: Value,
    gate: GateValues,
    factor: Factor,
    width: int,
    visible: Visible | None,
    chosen: Closed,
) -> tuple[Float[Tensor, "chosen key"], Int[Tensor, "chosen"]]:
    """Decompose T_i = [f(x_1; i); …] of each chosen query; return A⊥ and the ranks.

    Args:
        weight: Weights α.
        value: Values v(x) of the keys of `weight`, with their bias unless that was subtracted.
        gate: Gate g.
        factor: Factor R_h of each head, float64.
        width: Number of columns of T, d_model.
        visible: Mask of the keys that each query may attend to; None for all.
        chosen: Mask of the chosen queries of each head.
    """
    value, factor = double(per_head(value, weight.shape[1])), double(factor)
    keys = weight.shape[3]
    attention, ranks = [], []
    for places in torch.split(chosen.nonzero(), max(1, AT_ONCE // value[0, 0].numel())):
        batch, head, query = places.to(value.device).unbind(1)
        usable = torch.ones(len(places), keys, dtype=torch.bool, device=value.device)
        if visible is not None:
            row = query if visible.shape[1] > 1 else torch.zeros_like(query)
            usable = visible.expand(len(weight), -1, -1).to(value.device)[batch, row]
        rows = double(gate).to(value)[batch, head, query][:, None] * value[batch, head, :keys]
        basis, rank = row_space((rows @ factor[head]) * usable[..., None], usable, width)
        alpha = double(weight).to(value)[batch, head, query][:, None]
        attention.append(((alpha @ basis) @ basis.mT)[:, 0])
        ranks.append(rank)
    return torch.cat(attention), torch.cat(ranks)


def _take_sample(
    sample: Sample, weight: Weight, gate: GateValues
) -> tuple[
    Int[Tensor, "batch some"],
    Float[Tensor, "batch head some key"],
    Float[Tensor, "batch head some gate"],
]:
    """Return numbers, weights and gates of a sample, filled up where a text has fewer queries."""
    most = int(sample.sum(-1).max())
    rows = sample.long().argsort(dim=-1, descending=True, stable=True)[:, :most]
    place = rows[:, None, :, None].expand(-1, weight.shape[1], -1, -1)
    part_of_weight = weight.gather(2, place.expand(-1, -1, -1, weight.shape[3]))
    return rows, part_of_weight, gate.gather(2, place.expand(-1, -1, -1, gate.shape[3]))


def _spread(
    part: Float[Tensor, "batch head some key"],
    rows: Int[Tensor, "batch some"],
    sample: Bool[Tensor, "batch 1 query"],
) -> Score:
    """Put the rows of a sample at their places among all; the others are 0."""
    batch, heads, _, keys = part.shape
    rows_of_all = part.new_zeros(batch, heads, sample.shape[2], keys)
    rows_of_all.scatter_(2, rows[:, None, :, None].expand_as(part), part)
    return rows_of_all.where(sample[..., None], 0)  # without rows that filled up the sample


def _cast(tensor: Tensor, precision: torch.dtype) -> Tensor:
    return double(tensor) if precision == torch.float64 else tensor.to(precision)


def _parts(weight: Weight, of_query: int) -> Iterator[tuple[slice, int]]:
    """Yield blocks of queries, each with the number of keys up to the last that one attends to.

    Args:
        weight: Weights α.
        of_query: Number of array elements that a query needs.
    """
    step = max(1, AT_ONCE // max(1, len(weight) * of_query))
    attended = (weight != 0).any(0).any(0)
    for first in range(0, weight.shape[2], step):
        part = slice(first, first + step)
        columns = attended[part].any(0).nonzero()
        yield part, int(columns[-1]) + 1 if len(columns) else 0
