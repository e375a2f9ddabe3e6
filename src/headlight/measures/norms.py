"""Norms of inputs, of transformed vectors and of weighted ones (Kobayashi et al. 2020)."""

from jaxtyping import Float
from torch import Tensor

from headlight.measures.vectors import compressed
from headlight.tensors import Factor, Score, Value, Weight, back_to, single


def vector_norm(value: Value, factor: Factor) -> Float[Tensor, "batch head key"]:
    """Compute ‖f_h(x_j)‖, the length of the transformed vector, in the unit of the hidden states.

    Taken from `compressed`, in float64, and not as the root of v G_h vᵀ, whose squares lose half
    the digits where v lies near the null space of W_h.

    Args:
        value: Values v(x), value bias included.
        factor: Factor R_h of each head, float64.

    Returns:
        Lengths ≥ 0, float64.

    Source: Kobayashi et al. (2020), Section 3, Eq. 4.
    """
    return back_to(compressed(value, factor).norm(dim=-1), value.device)


def weighted_norm(weight: Weight, vector_norm: Float[Tensor, "batch head key"]) -> Score:
    """Compute ‖α_ij f_h(x_j)‖ = α_ij ‖f_h(x_j)‖, which moves from key j to query i in head h.

    Returns:
        Norms ≥ 0, float32 or better, in the unit of the hidden states.

    Source: Kobayashi et al. (2020), Section 3.
    """
    weight = single(weight)
    return weight * vector_norm[:, :, None].to(weight.dtype)


def input_norm(input: Float[Tensor, "batch key d_input"]) -> Float[Tensor, "batch key"]:
    """Compute ‖x_j‖, the length of the input of the attention module.

    Returns:
        Lengths ≥ 0, float32 or better.

    Source: Kobayashi et al. (2020), Section 4.1, Table 1.
    """
    length: Tensor = single(input).norm(dim=-1)
    return length
