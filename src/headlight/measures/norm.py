"""Norms of weighted transformed vectors (Kobayashi et al. 2020).

f_h(x_j) = v_h(x_j) W_h: the value bias is inside f, the output bias b^O is not, because it belongs
to no position.  The vectors themselves (``batch head key d_model``, and times ``query`` once
weighted) are never formed.

Norms and spaces where the context is multiplied by a gate before W^O.
The output of a head is g_i ⊙ Σ_j α_ij v_j, projected.  A gate that is one number for each query and
head scales α; with a vector, f depends on the query: f(x_j; i) = (g_i ⊙ v_j) W.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.capture.backward import holds
from headlight.measures import loops
from headlight.measures.row_space import AT_ONCE, row_space
from headlight.tensors import (
    Factor,
    GateValues,
    OutputWeight,
    Overlap,
    Score,
    Value,
    Visible,
    Weight,
    back_to,
    double,
    single,
)

CANCELLATION = 2e-3
"""Below this share of what its parts could add up to, a squared sum is recomputed in float64."""


def per_head(value: Value, heads: int) -> Float[Tensor, "batch head key head_dim"]:
    """Values of grouped heads, repeated so that every head has its own."""
    if value.shape[1] == heads:
        return value
    return value.repeat_interleave(heads // value.shape[1], dim=1)


def compressed(value: Value, factor: Factor) -> Float[Tensor, "batch head key head_dim"]:
    """f_h(x_j) in an orthonormal basis of its own space: head_dim numbers instead of d_model.

    With W_h = R_h Q_h and orthonormal rows in Q_h, f = v W_h has the coordinates v R_h, the same
    length and the same inner products within the head; T_h has the same left singular vectors and
    singular values.  float64.
    """
    batch, groups, keys, size = value.shape
    rows = double(value.transpose(0, 1)).reshape(groups, batch * keys, size)
    # The factors of heads that share values stand side by side.
    beside = double(factor).view(groups, -1, *factor.shape[1:]).transpose(1, 2).flatten(2)
    products = (rows @ beside).view(groups, batch, keys, -1, factor.shape[2])
    return products.permute(1, 0, 3, 2, 4).flatten(1, 2)


def vector_norm(value: Value, factor: Factor) -> Float[Tensor, "batch head key"]:
    """‖f_h(x_j)‖, the length of the transformed vector, in the unit of the hidden states.

    Taken from `compressed`, in float64, and not as the root of v G_h vᵀ, whose squares lose half
    the digits where v lies near the null space of W_h.

    Args:
        value: v(x), value bias included.
        factor: R_h of each head, float64.

    Returns:
        float64, ≥ 0.

    Source: Kobayashi et al. (2020), Section 3, Eq. 4.
    """
    return back_to(compressed(value, factor).norm(dim=-1), value.device)


def weighted_norm(weight: Weight, vector_norm: Float[Tensor, "batch head key"]) -> Score:
    """‖α_ij f_h(x_j)‖ = α_ij ‖f_h(x_j)‖, what moves from key j to query i in head h.

    Returns:
        float32 or better, ≥ 0, in the unit of the hidden states.

    Source: Kobayashi et al. (2020), Section 3.
    """
    weight = single(weight)
    return weight * vector_norm[:, :, None].to(weight.dtype)


def merged_norm(
    weight: Weight,
    rows: Float[Tensor, "batch head key head_dim"],
    overlap: Overlap,
    value: Value,
    output_weight: OutputWeight,
) -> Float[Tensor, "batch query key"]:
    """‖Σ_h α_hij f_h(x_j)‖: all heads summed, then the norm.

    The square is α_ijᵀ K_j α_ij with K_j[h, g] = ⟨f_h(x_j), f_g(x_j)⟩, a head × head matrix per
    token.  K is computed from the `compressed` f, so that its error is relative to the lengths of
    f, also where v lies near the null space of W_h; and from f in units of the longest f of the
    token, so that squares stay within float32.  Where the heads cancel one another, the digits of
    float32 are gone; such entries (few, in any model seen) are recomputed by the definition in
    float64.

    Args:
        weight: α.
        rows: f(x), `compressed`.
        overlap: Q Qᵀ, float32.
        value: v(x), value bias included, for the entries that are recomputed.
        output_weight: W^O, for the same.

    Returns:
        float32 or better, ≥ 0, in the unit of the hidden states.

    Source: Kobayashi et al. (2020), Section 3, and Eq. 3 for the sum over heads.
    """
    weight = single(weight)
    together = heads_together(rows, rows.norm(dim=-1), overlap, weight.dtype, weight.device)
    return merged_norm_of(weight, together, value, output_weight)


class HeadsTogether(NamedTuple):
    """The inner products of what all heads make of each token."""

    unit: Float[Tensor, "batch key"]
    """The length of the longest f(x) of the token; 1 where all are 0."""
    length: Float[Tensor, "batch head key"]
    """‖f(x)‖ in that unit."""
    products: Float[Tensor, "batch key head other"] | loops.Packed
    """K, in squares of that unit; packed for compiled loops."""


def heads_together(
    rows: Float[Tensor, "batch head key head_dim"],
    length: Float[Tensor, "batch head key"],
    overlap: Overlap,
    dtype: torch.dtype,
    device: torch.device,
    *,
    compiled: bool = False,
) -> HeadsTogether:
    """Return the terms that the merged norms of all queries share.

    Args:
        rows: f(x), `compressed`.
        length: ‖f(x)‖.
        overlap: Q Qᵀ.
        dtype: in which the products are taken.
        device: where they go.
        compiled: whether many texts follow, for which loading compiled loops is worth a second.
    """
    longest = length.amax(1)
    longest = longest.where(longest > 0, 1)
    units = back_to(rows / longest[:, None, :, None], device).to(dtype)
    in_loops = compiled and loops.serves(units)
    products_of = loops.inner_products if in_loops else _inner_products
    unit, length = (
        back_to(each, device).to(dtype) for each in (longest, length / longest[:, None])
    )
    return HeadsTogether(unit, length, products_of(units, overlap.to(units)))


def merged_norm_of(
    weight: Weight, together: HeadsTogether, value: Value, output_weight: OutputWeight
) -> Float[Tensor, "batch query key"]:
    """`merged_norm` of some queries, where it is known already what all of them share."""
    merge = loops.merged if together.products.ndim == 3 else _merged
    merged, lost = merge(weight, together.products, together.length, CANCELLATION)
    merged *= together.unit[:, None, : weight.shape[3]]
    if weight.device.type != "cpu" and holds(lost.sum() <= FEW):
        worst = lost.flatten().float().topk(min(FEW, lost.numel())).indices
        rest, keys = worst % lost[0].numel(), lost.shape[2]
        places = worst // lost[0].numel(), rest // keys, rest % keys
        exact = _formed(weight, value, output_weight, places).to(merged.dtype)
        merged[places] = exact.where(lost[places], merged[places])
    elif bool(lost.any()):
        chosen = lost.nonzero().unbind(1)
        merged[chosen] = _formed(weight, value, output_weight, chosen).to(merged.dtype)
    return merged


FEW = 64
"""Entries that a device computes again without saying how many have to be."""


PAIRS_AT_ONCE = 1 << 28
"""Numbers of a product of vectors with all heads: a gigabyte."""


def _inner_products(
    rows: Float[Tensor, "batch head key head_dim"], overlap: Overlap
) -> Float[Tensor, "batch key head other"]:
    """K_j[h, g] = ⟨f_h(x_j), f_g(x_j)⟩, of some heads at a time with all."""
    batch, heads, keys, size = rows.shape
    flat = rows.transpose(1, 2).reshape(batch * keys, heads, size)
    blocks = overlap.view(heads, size, heads * size)
    step = max(1, PAIRS_AT_ONCE // max(1, flat.numel()))
    parts = []
    for one, block in zip(torch.split(flat, step, 1), torch.split(blocks, step), strict=True):
        part = one.transpose(0, 1) @ block
        parts.append((part.view(*part.shape[:2], heads, size) * flat).sum(-1))
    return torch.cat(parts).movedim(0, 1).reshape(batch, keys, heads, heads)


def _merged(
    weight: Weight,
    products: Float[Tensor, "batch key_of_text head other"],
    length: Float[Tensor, "batch head key_of_text"],
    threshold: float,
) -> tuple[Float[Tensor, "batch query key"], Bool[Tensor, "batch query key"]]:
    """As `loops.merged`, on every device and in every precision."""
    keys = weight.shape[3]
    alpha = weight.permute(0, 3, 2, 1)
    square = ((alpha @ products[:, :keys]) * alpha).sum(-1).mT
    parts = (weight * length[:, :, None, :keys]).sum(1)
    return square.clamp_min(0).sqrt(), square < threshold * parts.square()


def _formed(
    weight: Weight,
    value: Value,
    output_weight: OutputWeight,
    chosen: tuple[Tensor, ...],
    at_once: int = 4096,
) -> Float[Tensor, "chosen"]:
    """The definition, for the chosen pairs of positions: Σ_h α_h v_h W_h, then its norm."""
    value, blocks = per_head(value, weight.shape[1]), double(output_weight).flatten(0, 1)
    parts = []
    for batch, query, key in zip(*(torch.split(each, at_once) for each in chosen), strict=True):
        scaled = double(weight[batch, :, query, key])[:, :, None] * double(value[batch, :, key])
        parts.append((scaled.flatten(1) @ blocks).norm(dim=-1))
    return back_to(torch.cat(parts), weight.device)


def input_norm(input: Float[Tensor, "batch key d_input"]) -> Float[Tensor, "batch key"]:
    """‖x_j‖, the length of what the attention module reads.

    Returns:
        float32 or better, ≥ 0.

    Source: Kobayashi et al. (2020), Section 4.1, Table 1.
    """
    length: Tensor = single(input).norm(dim=-1)
    return length


Sample = Bool[Tensor, "batch query"]
"""Queries that are asked for."""

Closed = Bool[Tensor, "batch head query"]
"""Queries whose T is not that of all queries."""


def gated_weight(weight: Weight, gate: GateValues | None) -> Weight:
    """Weights times g where that is a number for each query and head; float32 or better."""
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
    """‖α_ij f(x_j; i)‖ with f(x_j; i) = (g_i ⊙ v_j) W; for every query a product of its own.

    Args:
        weight: α.
        value: v(x), value bias included.
        gate: g.
        factor: R_h of each head.
        precision: of the products.
        sample: the queries that are asked for; the rows of others are 0.  None for all.

    Returns:
        float32 or better, ≥ 0.
    """
    if sample is not None:
        rows, part_of_weight, part_of_gate = _of_sample(sample, weight, gate)
        some = gated_norm(part_of_weight, value, part_of_gate, factor, precision)
        return _spread(some, rows, sample[:, None])
    norms = torch.zeros_like(single(weight))
    value = _in(per_head(value, weight.shape[1]), precision)
    factor = factor.to(value)
    for part, keys in _parts(weight, value[0].numel()):
        rows = _in(gate[:, :, part], precision)[:, :, :, None] * value[:, :, None, :keys]
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
    """‖Σ_h α_hij f_h(x_j; i)‖, by the definition; arguments as in `gated_norm`, with W^O."""
    if sample is not None:
        rows, part_of_weight, part_of_gate = _of_sample(sample, weight, gate)
        some = gated_merged_norm(part_of_weight, value, part_of_gate, output, precision)
        return _spread(some[:, None], rows, sample[:, None])[:, 0]
    norms = torch.zeros_like(single(weight[:, 0]))
    value = _in(per_head(value, weight.shape[1]), precision)
    blocks = _in(output, precision).flatten(0, 1)
    for part, keys in _parts(weight, value[0, 0, :, 0].numel() * blocks.numel() // len(output)):
        scaled = _in(gate[:, :, part], precision)[:, :, :, None] * value[:, :, None, :keys]
        scaled *= _in(weight[:, :, part, :keys], precision)[..., None]
        length = (scaled.permute(0, 2, 3, 1, 4).flatten(3) @ blocks).norm(dim=-1)
        norms[:, part, :keys] = back_to(length, weight.device)
    return norms


def of_their_own(gate: GateValues, factor: Factor) -> Closed:
    """Queries whose T_i may span another space than T: a gate of zero, or a W of lower rank.

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
    """A⊥ of the chosen queries and the rank of T_i = [f(x_1; i); …], one decomposition for each.

    Args:
        weight: α.
        value: v(x) of the keys of `weight`; with its bias, unless that was taken off.
        gate: g.
        factor: R_h of each head, float64.
        width: d_model.
        visible: which keys each query may attend to; None for all.
        chosen: which queries of which heads.
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


def _of_sample(
    sample: Sample, weight: Weight, gate: GateValues
) -> tuple[
    Int[Tensor, "batch some"],
    Float[Tensor, "batch head some key"],
    Float[Tensor, "batch head some gate"],
]:
    """The numbers of the queries that are asked for, and of others where a text has fewer."""
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
    """The rows of a sample at their places among all, where the others are 0."""
    batch, heads, _, keys = part.shape
    rows_of_all = part.new_zeros(batch, heads, sample.shape[2], keys)
    rows_of_all.scatter_(2, rows[:, None, :, None].expand_as(part), part)
    return rows_of_all.where(sample[..., None], 0)


def _in(tensor: Tensor, precision: torch.dtype) -> Tensor:
    return double(tensor) if precision == torch.float64 else tensor.to(precision)


def _parts(weight: Weight, of_query: int) -> Iterator[tuple[slice, int]]:
    """Some queries at a time, with the number of keys up to the last that one of them attends to.

    Args:
        weight: α.
        of_query: numbers that a query needs.
    """
    step = max(1, AT_ONCE // max(1, len(weight) * of_query))
    attended = (weight != 0).any(0).any(0)
    for first in range(0, weight.shape[2], step):
        part = slice(first, first + step)
        columns = attended[part].any(0).nonzero()
        yield part, int(columns[-1]) + 1 if len(columns) else 0
