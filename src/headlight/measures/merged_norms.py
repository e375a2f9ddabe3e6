"""Merged norms: the weighted vectors of all heads are summed, then the norm is taken."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture.deferred_checks import holds
from headlight.measures import merged_norm_loops
from headlight.measures.vectors import per_head
from headlight.tensors import OutputWeight, Overlap, Value, Weight, back_to, double, single

CANCELLATION = 2e-3
"""Below this share of its largest possible value, a squared sum is recomputed in float64."""


def merged_norm(
    weight: Weight,
    rows: Float[Tensor, "batch head key head_dim"],
    overlap: Overlap,
    value: Value,
    output_weight: OutputWeight,
) -> Float[Tensor, "batch query key"]:
    """Compute ‖Σ_h α_hij f_h(x_j)‖: all heads summed, then the norm.

    The square is α_ijᵀ K_j α_ij with K_j[h, g] = ⟨f_h(x_j), f_g(x_j)⟩, a head × head matrix per
    token.  K is computed from the `compressed` f, so that its error is relative to the lengths of
    f, also where v lies near the null space of W_h; and from f in units of the longest f of the
    token, so that squares stay within float32.  Where the heads cancel one another, the digits of
    float32 are gone; such entries (few, in any model seen) are recomputed by the definition in
    float64.

    Args:
        weight: Weights α.
        rows: Vectors f(x), `compressed`.
        overlap: Overlap Q Qᵀ, float32.
        value: Values v(x), value bias included, for the entries that are recomputed.
        output_weight: Output weights W^O, for the same entries.

    Returns:
        Norms ≥ 0, float32 or better, in the unit of the hidden states.

    Source: Kobayashi et al. (2020), Section 3, and Eq. 3 for the sum over heads.
    """
    weight = single(weight)
    together = heads_together(rows, rows.norm(dim=-1), overlap, weight.dtype, weight.device)
    return merged_norm_of(weight, together, value, output_weight)


class HeadsTogether(NamedTuple):
    """Inner products of the vectors of all heads for each token."""

    unit: Float[Tensor, "batch key"]
    """Length of the longest f(x) of the token; 1 where all are 0."""
    length: Float[Tensor, "batch head key"]
    """‖f(x)‖ in that unit."""
    products: Float[Tensor, "batch key head other"] | merged_norm_loops.Packed
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
        rows: Vectors f(x), `compressed`.
        length: Lengths ‖f(x)‖.
        overlap: Overlap Q Qᵀ.
        dtype: Precision of the products.
        device: Device of the results.
        compiled: Whether many texts follow, so that it pays to load compiled loops for a second.
    """
    longest = length.amax(1)
    longest = longest.where(longest > 0, 1)
    units = back_to(rows / longest[:, None, :, None], device).to(dtype)
    in_loops = compiled and merged_norm_loops.serves(units)
    products_of = merged_norm_loops.inner_products if in_loops else _inner_products
    unit, length = (
        back_to(lengths, device).to(dtype) for lengths in (longest, length / longest[:, None])
    )
    return HeadsTogether(unit, length, products_of(units, overlap.to(units)))


def merged_norm_of(
    weight: Weight, together: HeadsTogether, value: Value, output_weight: OutputWeight
) -> Float[Tensor, "batch query key"]:
    """Compute `merged_norm` of some queries from the terms that all queries share."""
    merge = merged_norm_loops.merged if together.products.ndim == 3 else _merge
    terms = together.products, together.length, together.unit
    merged, lost = merge(weight, *terms, CANCELLATION)
    if weight.device.type != "cpu" and holds(lost.sum() <= FEW):
        # As many cells as there may be, lost or not: to count them is to wait for the device.
        worst = lost.flatten().float().topk(min(FEW, lost.numel())).indices
        rest, keys = worst % lost[0].numel(), lost.shape[2]
        places = worst // lost[0].numel(), rest // keys, rest % keys
        text, query, key = places
        of_places = weight[text, :, query, key]
        exact = formed(of_places, value, output_weight, (text, key)).to(merged.dtype)
        merged[places] = exact.where(lost[places], merged[places])
    elif bool(lost.any()):
        text, query, key = chosen = lost.nonzero().unbind(1)
        exact = formed(weight[text, :, query, key], value, output_weight, (text, key))
        merged[chosen] = exact.to(merged.dtype)
    return merged


FEW = 64
"""Number of entries that a device recomputes without telling the host how many need it."""

PAIRS_AT_ONCE = 1 << 28
"""Numbers of a product of vectors with all heads: a gigabyte."""


def _inner_products(
    rows: Float[Tensor, "batch head key head_dim"], overlap: Overlap
) -> Float[Tensor, "batch key head other"]:
    """Return K_j[h, g] = ⟨f_h(x_j), f_g(x_j)⟩, computed for blocks of heads with all heads."""
    batch, heads, keys, size = rows.shape
    flat = rows.transpose(1, 2).reshape(batch * keys, heads, size)
    blocks = overlap.view(heads, size, heads * size)
    step = max(1, PAIRS_AT_ONCE // max(1, flat.numel()))
    parts = []
    for vectors, block in zip(torch.split(flat, step, 1), torch.split(blocks, step), strict=True):
        part = vectors.transpose(0, 1) @ block
        parts.append((part.view(*part.shape[:2], heads, size) * flat).sum(-1))
    return torch.cat(parts).movedim(0, 1).reshape(batch, keys, heads, heads)


def _merge(
    weight: Weight,
    products: Float[Tensor, "batch key_of_text head other"],
    length: Float[Tensor, "batch head key_of_text"],
    unit: Float[Tensor, "batch key_of_text"],
    threshold: float,
) -> tuple[Float[Tensor, "batch query key"], Bool[Tensor, "batch query key"]]:
    """Do the same as `merged_norm_loops.merged`, on every device and in every precision."""
    keys = weight.shape[3]
    alpha = weight.permute(0, 3, 2, 1)
    square = ((alpha @ products[:, :keys]) * alpha).sum(-1).mT
    parts = (weight * length[:, :, None, :keys]).sum(1)
    norms = square.clamp_min(0).sqrt() * unit[:, None, :keys]
    return norms, square < threshold * parts.square()


def formed(
    weight: Float[Tensor, "chosen head"],
    value: Value,
    output_weight: OutputWeight,
    places: tuple[Tensor, Tensor],
    at_once: int = 4096,
) -> Float[Tensor, "chosen"]:
    """Compute ‖Σ_h α_h v_h W_h‖ for chosen pairs of positions, by definition.

    Args:
        weight: Weights α of all heads.
        value: Values v(x), value bias included.
        output_weight: Output weights W^O.
        places: Text and key of each pair.
        at_once: Number of pairs that are formed together.
    """
    value, blocks = per_head(value, weight.shape[1]), double(output_weight).flatten(0, 1)
    parts = []
    for alpha, batch, key in zip(
        torch.split(weight, at_once),
        *(torch.split(index, at_once) for index in places),
        strict=True,
    ):
        scaled = double(alpha)[:, :, None] * double(value[batch, :, key])
        parts.append((scaled.flatten(1) @ blocks).norm(dim=-1))
    return back_to(torch.cat(parts), weight.device)
