"""Share of each token in the output of an attention block, by what is missed without it.

The part z of a token is formed only where it can count.  With y the sum of all parts,

    ‖y‖₁ − ‖y − z‖₁ = Σ_d min(p_d, 2|y_d| − p_d)  with  p_d = z_d sign(y_d), sign(0) = 1,

which is at most Σ_d p_d = ⟨z, sign y⟩: a product like that of queries and keys, for which no part
is formed.  Where that is not above 0, neither is what is missed.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.measures.parts import BlockSum
from headlight.reduce.compiling import compile_together

KEYS = 16
"""Keys that are looked at together, so that their vectors stay in the cache."""

WORTH_IT = 1 << 22
"""Numbers of parts from which on it is worth it to compile."""

Missed = Float[Tensor, "query key"]


def missed_without_tokens(block: BlockSum) -> Missed:
    """max(0, ‖y_i‖₁ − ‖y_i − z_ij‖₁), with z_ij what token j gives to what leaves the block.

    z_ij = Σ_h α_hij f_h(x_j) + δ_ij x_i, behind the norm that follows the sum, if one does; y holds
    b^O and the β of that norm as well.

    Args:
        block: of one text that looks at itself.

    Returns:
        ≥ 0, at most ‖z_ij‖₁.  Where a norm follows, times what it divides by.

    Source: Ferrando et al. (2022), ALTI.  As in their code, y is what the block puts out, with all
    biases, which no token has a part of.
    """
    total = block.total + block.offset
    # 1 where y is 0: any part makes it longer then
    sign, size = torch.where(total < 0, -1.0, 1.0).to(total), 2 * total.abs()
    toward = sign @ block.output.mT  # head query head_dim
    counts = (block.weight * (toward @ block.values.mT)).sum(0) > 0
    counts.fill_diagonal_(fill_value=False)
    heads, queries, keys = block.weight.shape
    loop = _loop_for(block.weight, heads * queries * keys * total.shape[1])
    found = (loop or _one_key_at_a_time)(block, counts, sign, size)
    alone = block.weight.diagonal(dim1=1, dim2=2)
    own = torch.einsum("hi,hid->id", alone, block.vectors)
    part = (own + block.given) * sign
    found.diagonal().copy_(torch.minimum(part, size - part).sum(-1))
    return found.clamp_min(0)


def token_shares(block: BlockSum) -> Missed:
    """Compute what is missed without each token, as shares of its sum: each row sums to 1.

    A row that nothing is missed of (which no model seen has) is the token itself.
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
    found = torch.zeros_like(block.weight[0])
    for key in range(found.shape[1]):
        queries = counts[:, key].nonzero()[:, 0]
        part = block.weight[:, queries, key].T @ block.vectors[:, key] * sign[queries]
        found[queries, key] = torch.minimum(part, size[queries] - part).sum(-1)
    return found


def _loop_for(weight: Tensor, numbers: int) -> Callable[..., Missed] | None:
    """Return a loop some five times as fast on the CPU; None where that is not worth it."""
    if weight.device.type != "cpu" or numbers < WORTH_IT:
        return None
    loop = _compiled()
    return partial(_in_threads, loop) if loop else None


@cache
def _compiled() -> Callable[..., Any] | None:
    return compile_together(_loop, (), nogil=True, fastmath={"reassoc", "contract", "nsz"})


def _in_threads(
    loop: Callable[..., Any], block: BlockSum, counts: Tensor, sign: Tensor, size: Tensor
) -> Missed:
    """As many threads as torch has; each has queries of its own, so no bit depends on them."""
    weight = block.weight.permute(1, 2, 0).contiguous().numpy()
    vectors = block.vectors.transpose(0, 1).contiguous().numpy()
    found = torch.zeros_like(block.weight[0])
    given = (weight, vectors, counts.numpy(), sign.numpy(), size.numpy(), found.numpy())
    threads = min(torch.get_num_threads(), len(found))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(partial(loop, *given, threads), range(threads)))
    return found


@no_type_check
def _loop(  # noqa: PLR0913, PLR0917 - arrays of one loop
    weight, vectors, counts, sign, size, found, step, start
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
                missed = part[0] - part[0]
                for place in range(width):
                    toward = part[place] * sign[query, place]
                    missed += min(toward, size[query, place] - toward)
                found[query, key] = missed
