"""How much of a sum each of its parts makes up, by what is missed without it."""

import torch
from jaxtyping import Float
from torch import Tensor

CELLS = 1 << 22
"""Numbers of parts of heads that are formed at a time."""


def missed_without(
    total: Float[Tensor, "*place d_model"], part: Float[Tensor, "*place d_model"]
) -> Float[Tensor, "*place"]:
    """max(0, ‖y‖₁ − ‖y − p‖₁), by which a sum y gets shorter without its part p.

    Args:
        total: y.
        part: p.

    Returns:
        ≥ 0, at most ‖p‖₁; in the unit of the hidden states.

    Source: Ferrando et al. (2022); Ferrando and Voita (2024).
    """
    return (total.abs() - (total - part).abs()).sum(-1).clamp_min(0)


def missed_without_heads(
    total: Float[Tensor, "query d_model"],
    weight: Float[Tensor, "head query key"],
    vectors: Float[Tensor, "head key d_model"],
) -> Float[Tensor, "head query key"]:
    """The same of the parts α f(x) that each head takes from each key.

    What keys with a weight of 0 give is not formed, so that of causal attention half is.

    Args:
        total: y of each query.
        weight: α.
        vectors: f(x), or what becomes of it in the sum.

    Returns:
        ≥ 0, in the unit of the hidden states.
    """
    heads, queries, keys = weight.shape
    found = weight.new_zeros(heads, queries, keys)
    sign, size = total.sign(), total.abs()
    for query in range(queries):
        seen = weight[:, query].any(0).nonzero()[:, 0]
        for chosen in torch.split(seen, max(1, CELLS // (heads * total.shape[1]))):
            # z sign y against |y|: the same distance, with one absolute value in place of two.
            part = vectors[:, chosen] * (weight[:, query, chosen, None] * sign[query])
            missed = size[query].sum() - (size[query] - part).abs().sum(-1)
            found[:, query, chosen] = missed.clamp_min(0)
    return found
