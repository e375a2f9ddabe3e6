"""Singular values of f, the map from an input to a transformed vector (Kobayashi et al. 2020)."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel
from headlight.capture.value_map import value_map
from headlight.tensors import OutputWeight, double


def singular_values_of(model: CapturedModel, site: AttentionSite) -> Float[Tensor, "head value"]:
    """Return the singular values of the heads of one attention module; see `singular_values`.

    Raises:
        UnsupportedModelError: The weights of the values of this model were not found.
    """
    map_of_values = value_map(model, site)
    return singular_values(map_of_values.weight, map_of_values.bias, site.projection.weight.cpu())


def singular_values(
    value_weight: Float[Tensor, "kv_head d_input head_dim"],
    value_bias: Float[Tensor, "kv_head head_dim"],
    output_weight: OutputWeight,
) -> Float[Tensor, "head value"]:
    """Compute the head_dim + 1 singular values of every head's f that can differ from zero.

    f(x) = (x W^V + b^V) W^O is affine; with a 1 appended to x and to f(x) it is the linear map
    W̃^V W̃^O, where the 1 goes through a dimension of its own: W̃^V is (d_input + 1) × (head_dim + 1)
    and W̃^O (head_dim + 1) × (d_model + 1).  (The paper prints square matrices, which holds for all
    heads together.)  With the triangular factors of both, W̃^V = Q₁ R₁ and W̃^Oᵀ = Q₂ R₂, these are
    the singular values of the small matrix R₁ R₂ᵀ.  b^O is no part of f.

    Returns:
        Singular values, float64, the largest first, head_dim + 1 for each head.

    Source: Kobayashi et al. (2020), Appendices A and B, Eq. 5-7, Figure 9.
    """
    before = _append_one(double(value_weight), double(value_bias))
    after = _append_one(double(output_weight), torch.zeros_like(double(output_weight)[:, 0]))
    first = torch.linalg.qr(before, mode="r")[1]
    second = torch.linalg.qr(after.mT, mode="r")[1]
    repeats = len(after) // len(before)
    values: Tensor = torch.linalg.svdvals(first.repeat_interleave(repeats, dim=0) @ second.mT)
    return values


def _append_one(
    weight: Float[Tensor, "head rows columns"], bias: Float[Tensor, "head columns"]
) -> Float[Tensor, "head rows_and_one columns_and_one"]:
    """Return [[W, 0], [b, 1]]."""
    heads, rows, columns = weight.shape
    whole = weight.new_zeros(heads, rows + 1, columns + 1)
    whole[:, :rows, :columns] = weight
    whole[:, rows, :columns] = bias
    whole[:, rows, columns] = 1
    return whole
