"""Norms of transformed vectors (Kobayashi et al. 2020).

f_h(x_j) = v_h(x_j) W_h: the value bias is inside f, the output bias b^O is not, because it belongs
to no position.  The vectors themselves (``batch head key d_model``, and times ``query`` once
weighted) are never formed.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.measures.precision import back_to, double, single
from headlight.shapes import Factor, OutputWeight, Overlap, Score, Value, Weight

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
    return double(per_head(value, factor.shape[0])) @ double(factor)


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
    norm: Score,
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
        norm: ‖α f(x)‖ of every head.
        overlap: Q Qᵀ, float32.
        value: v(x), value bias included, for the entries that are recomputed.
        output_weight: W^O, for the same.

    Returns:
        float32 or better, ≥ 0, in the unit of the hidden states.

    Source: Kobayashi et al. (2020), Section 3, and Eq. 3 for the sum over heads.
    """
    weight = single(weight)
    together = heads_together(rows, overlap, weight.dtype, weight.device)
    return merged_norm_of(weight, together, norm, value, output_weight)


class HeadsTogether(NamedTuple):
    """The inner products of what all heads make of each token."""

    unit: Float[Tensor, "batch key"]
    """The length of the longest f(x) of the token; 1 where all are 0."""
    products: Float[Tensor, "batch key head other"]
    """K, in squares of that unit."""


def heads_together(
    rows: Float[Tensor, "batch head key head_dim"],
    overlap: Overlap,
    dtype: torch.dtype,
    device: torch.device,
) -> HeadsTogether:
    """Return the terms that the merged norms of all queries share.

    Args:
        rows: f(x), `compressed`.
        overlap: Q Qᵀ.
        dtype: in which the products are taken.
        device: where they go.
    """
    longest = rows.norm(dim=-1).amax(1)
    longest = longest.where(longest > 0, 1)
    units = back_to(rows / longest[:, None, :, None], device).to(dtype)
    products = _inner_products(units, overlap.to(units))
    return HeadsTogether(back_to(longest, device).to(dtype), products)


def merged_norm_of(
    weight: Weight, together: HeadsTogether, norm: Score, value: Value, output_weight: OutputWeight
) -> Float[Tensor, "batch query key"]:
    """`merged_norm` of some queries, where it is known already what all of them share."""
    keys = weight.shape[3]
    unit = together.unit[:, None, :keys]
    square = _quadratic(weight, together.products[:, :keys])
    lost = square < CANCELLATION * (norm.sum(dim=1) / unit).square()
    merged = square.clamp_min(0).sqrt() * unit
    if bool(lost.any()):
        value = per_head(value, weight.shape[1])
        merged[lost] = _formed(weight, value, output_weight, lost).to(merged.dtype)
    return merged


def _inner_products(
    rows: Float[Tensor, "batch head key head_dim"], overlap: Overlap
) -> Float[Tensor, "batch key head other"]:
    """K_j[h, g] = ⟨f_h(x_j), f_g(x_j)⟩; half of the symmetric matrix is computed."""
    batch, heads, keys, size = rows.shape
    flat = rows.transpose(1, 2).reshape(batch * keys, heads * size)
    products = flat.new_empty(batch * keys, heads, heads)
    for head in range(heads):
        start = head * size
        part = flat[:, start : start + size] @ overlap[start : start + size, start:]
        row = part.mul_(flat[:, start:]).view(batch * keys, heads - head, size).sum(-1)
        products[:, head, head:] = row
        products[:, head:, head] = row
    return products.view(batch, keys, heads, heads)


def _quadratic(
    weight: Weight, products: Float[Tensor, "batch key head other"]
) -> Float[Tensor, "batch query key"]:
    """Σ_hg α_h K_hg α_g per pair of positions, one head at a time to stay in the cache."""
    alphas = weight.unbind(1)
    # Off the diagonal every pair of heads counts twice.
    doubled = 2 * products - torch.diag_embed(products.diagonal(dim1=2, dim2=3))
    factors = doubled.permute(2, 3, 0, 1).contiguous()[:, :, :, None]
    total = torch.zeros_like(alphas[0])
    for head, alpha in enumerate(alphas):
        row = factors[head].unbind(0)
        inner = alpha * row[head]
        for other in range(head + 1, len(alphas)):
            inner.addcmul_(alphas[other], row[other])
        total.addcmul_(inner, alpha)
    return total


def _formed(
    weight: Weight,
    value: Float[Tensor, "batch head key head_dim"],
    output_weight: OutputWeight,
    chosen: Tensor,
    at_once: int = 4096,
) -> Float[Tensor, "chosen"]:
    """The definition, for the chosen pairs of positions: Σ_h α_h v_h W_h, then its norm."""
    blocks = double(output_weight).flatten(0, 1)
    parts = []
    for places in torch.split(chosen.nonzero(), at_once):
        batch, query, key = places.unbind(1)
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
