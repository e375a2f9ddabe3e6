"""Share of each token in the output of an attention block, by the length lost without it (ALTI).

The part z of a token is formed only where it can count.  With y the sum of all parts,

    ‖y‖₁ − ‖y − z‖₁ = Σ_d min(p_d, 2|y_d| − p_d)  with  p_d = z_d sign(y_d), sign(0) = 1,

which is at most Σ_d p_d = ⟨z, sign y⟩: a product like that of queries and keys, for which no part
is formed.  Where that is not above 0, no length is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import LayerRecord, Residual
from headlight.errors import UnsupportedModelError
from headlight.measures.compiled_loops import compile_loop, run_in_threads
from headlight.measures.gated_heads import gated_weight
from headlight.measures.vectors import per_head
from headlight.tensors import single

CELLS = 1 << 22
"""Numbers of parts of heads that are formed at a time."""


@dataclass(frozen=True, eq=False)
class BlockSum:
    """The sum that leaves an attention block, and its parts, for one text.

    All are behind the norm that follows the sum, if one does, but for the number that this divides
    the sum by; the β of that norm is no part.

    Attributes:
        total: Sum y, b^O included.
        given: Residual.
        bias: Output bias b^O.
        weight: Weights α of each head, divided by the divisors of norms on the branch.
        values: Values v(x) of each head.
        output: Weights W^O of each head.
        offset: Offset β of the norm, times the divisor of the norm.
    """

    total: Float[Tensor, "query d_model"]
    given: Float[Tensor, "query d_model"]
    bias: Float[Tensor, "query d_model"]
    weight: Float[Tensor, "head query key"]
    values: Float[Tensor, "head key head_dim"]
    output: Float[Tensor, "head head_dim d_model"]
    offset: Float[Tensor, "query d_model"]

    @cached_property
    def vectors(self) -> Float[Tensor, "head key d_model"]:
        """Return f(x) of each head."""
        return self.values @ self.output

    @classmethod
    def from_record(cls, record: LayerRecord, residual: Residual) -> "BlockSum":
        """Return the sum of the first text of a record, float32 or better.

        Raises:
            UnsupportedModelError: The vectors f(x) depend on the query.
        """
        if record.gate is not None and record.site.gate == "element":
            raise UnsupportedModelError(
                f"{record.site.name}: its gate has a number for each component, so that what a "
                "head takes from a token depends on the query, and there are no parts of tokens "
                "that all queries share."
            )
        projection, site = record.site.projection, residual.site
        weight = single(gated_weight(record.weight, record.gate))[0]
        output = single(projection.weight)
        values = single(per_head(record.value, len(output)))[0]
        written, stream = single(residual.written)[0], single(residual.given)[0]
        bias = torch.zeros_like(written)
        if projection.bias is not None:
            bias = bias + single(projection.bias)
        for frozen_map in site.branch:
            scale = frozen_map.scale(written)
            weight = weight / scale[:, None]
            output = frozen_map.linear(output)
            bias = frozen_map.linear(bias) / scale[:, None] + frozen_map.offset.to(bias)
            written = frozen_map(written)
        total, offset = written + stream, torch.zeros_like(written)
        if site.norm is not None:  # its divisor is the same for all parts of a sum
            offset = site.norm.scale(total)[:, None] * site.norm.offset.to(total)
            total, stream, bias, output = map(site.norm.linear, (total, stream, bias, output))
        return cls(total, stream, bias, weight, values, output, offset)


def missed_without(
    total: Float[Tensor, "*place d_model"], part: Float[Tensor, "*place d_model"]
) -> Float[Tensor, "*place"]:
    """Return max(0, ‖y‖₁ − ‖y − p‖₁), by which a sum y gets shorter without its part p.

    Args:
        total: Sum y.
        part: Part p of the sum.

    Returns:
        Lengths from 0 to ‖p‖₁, in the unit of the hidden states.

    Source: Ferrando et al. (2022); Ferrando and Voita (2024).
    """
    return (total.abs() - (total - part).abs()).sum(-1).clamp_min(0)


def missed_without_heads(
    total: Float[Tensor, "query d_model"],
    weight: Float[Tensor, "head query key"],
    vectors: Float[Tensor, "head key d_model"],
) -> Float[Tensor, "head query key"]:
    """Compute the loss of length without each part α f(x) that a head takes from a key.

    Parts of keys with a weight of 0 are not formed, so causal attention needs half of them.

    Args:
        total: Sum y of each query.
        weight: Weights α.
        vectors: Vectors f(x), or their images in the sum.

    Returns:
        Lengths ≥ 0, in the unit of the hidden states.
    """
    heads, queries, keys = weight.shape
    missed_by_key = weight.new_zeros(heads, queries, keys)
    sign, size = total.sign(), total.abs()
    for query in range(queries):
        visible_keys = weight[:, query].any(0).nonzero()[:, 0]
        for chosen in torch.split(visible_keys, max(1, CELLS // (heads * total.shape[1]))):
            # z sign y against |y|: the same distance, with one absolute value in place of two.
            part = vectors[:, chosen] * (weight[:, query, chosen, None] * sign[query])
            missed = size[query].sum() - (size[query] - part).abs().sum(-1)
            missed_by_key[:, query, chosen] = missed.clamp_min(0)
    return missed_by_key


KEYS = 16
"""Keys that are processed together, so that their vectors stay in the cache."""

WORTH_IT = 1 << 22
"""Number of components of all parts from which on compilation pays off."""

Missed = Float[Tensor, "query key"]


def missed_without_tokens(block: BlockSum) -> Missed:
    """Compute max(0, ‖y_i‖₁ − ‖y_i − z_ij‖₁), z_ij being the part of token j in the output.

    z_ij = Σ_h α_hij f_h(x_j) + δ_ij x_i, behind the norm that follows the sum, if one does; y holds
    b^O and the β of that norm as well.

    Args:
        block: Sum and parts of one text that attends to itself.

    Returns:
        Lengths from 0 to ‖z_ij‖₁.  Where a norm follows, they are times its divisor.

    Source: Ferrando et al. (2022), ALTI.  As in their code, y is the output of the block with all
    biases, which belong to no token.
    """
    total = block.total + block.offset
    # 1 where y is 0: any part makes it longer then
    sign, size = torch.where(total < 0, -1.0, 1.0).to(total), 2 * total.abs()
    toward = sign @ block.output.mT  # head query head_dim
    counts = (block.weight * (toward @ block.values.mT)).sum(0) > 0
    counts.fill_diagonal_(fill_value=False)  # computed below, together with the residual
    heads, queries, keys = block.weight.shape
    loop = _loop_for(block.weight, heads * queries * keys * total.shape[1])
    missed_sums = (loop or _one_key_at_a_time)(block, counts, sign, size)
    alone = block.weight.diagonal(dim1=1, dim2=2)
    from_self = torch.einsum("hi,hid->id", alone, block.vectors)
    part = (from_self + block.given) * sign
    missed_sums.diagonal().copy_(torch.minimum(part, size - part).sum(-1))
    return missed_sums.clamp_min(0)


def token_shares(block: BlockSum) -> Missed:
    """Compute the loss of length without each token, as shares of a row that sum to 1.

    In a row without any loss (no model seen has one), the token itself has all.
    """
    missed = missed_without_tokens(block).cpu().double()
    whole = missed.sum(-1, keepdim=True)
    alone = torch.eye(len(missed), dtype=missed.dtype, device=missed.device)
    return torch.where(whole > 0, missed / whole.where(whole > 0, 1), alone)


def _one_key_at_a_time(
    block: BlockSum,
    counts: Bool[Tensor, "query key"],
    sign: Float[Tensor, "query d_model"],
    size: Float[Tensor, "query d_model"],
) -> Missed:
    missed_sums = torch.zeros_like(block.weight[0])
    for key in range(missed_sums.shape[1]):
        queries = counts[:, key].nonzero()[:, 0]
        part = block.weight[:, queries, key].T @ block.vectors[:, key] * sign[queries]
        missed_sums[queries, key] = torch.minimum(part, size[queries] - part).sum(-1)
    return missed_sums


def _loop_for(weight: Tensor, numbers: int) -> Callable[..., Missed] | None:
    # The loop is some five times as fast, but takes seconds to compile when first used.
    if weight.device.type != "cpu" or numbers < WORTH_IT:
        return None
    return partial(_run_threaded, _compile())


@cache
def _compile() -> Callable[..., Any]:
    return compile_loop(_loop)


def _run_threaded(
    loop: Callable[..., Any], block: BlockSum, counts: Tensor, sign: Tensor, size: Tensor
) -> Missed:
    """Use as many threads as torch; each has queries of its own, so no bit depends on them."""
    weight = block.weight.permute(1, 2, 0).contiguous().numpy()
    vectors = block.vectors.transpose(0, 1).contiguous().numpy()
    missed_sums = torch.zeros_like(block.weight[0])
    arrays = (weight, vectors, counts.numpy(), sign.numpy(), size.numpy(), missed_sums.numpy())
    threads = min(torch.get_num_threads(), len(missed_sums))
    run_in_threads(partial(loop, *arrays), threads)
    return missed_sums


@no_type_check
def _loop(  # noqa: PLR0913 - arrays of one loop
    weight, vectors, counts, sign, size, missed_sums, step, start
):
    """Sum Σ_d min(p_d, 2|y_d| − p_d) where it counts, for the queries start, start + step, ..."""
    queries, keys, heads = weight.shape
    width = sign.shape[1]
    part = np.empty(width, sign.dtype)
    for first in range(0, keys, KEYS):
        for query in range(start, queries, step):
            for key in range(first, min(first + KEYS, keys)):
                if not counts[query, key]:
                    continue
                alpha, vector = weight[query, key], vectors[key]
                part[:] = alpha[0] * vector[0]
                for head in range(1, heads):
                    for place in range(width):
                        part[place] += alpha[head] * vector[head, place]
                missed = part[0] - part[0]  # a zero in the precision of the parts
                for place in range(width):
                    toward = part[place] * sign[query, place]
                    missed += min(toward, size[query, place] - toward)
                missed_sums[query, key] = missed
