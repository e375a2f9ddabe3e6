"""Transformed vectors f(x) of each head (Kobayashi et al. 2020).

f_h(x_j) = v_h(x_j) W_h: the value bias is inside f, the output bias b^O is not, because it belongs
to no position.  The vectors themselves (``batch head key d_model``, and times ``query`` once
weighted) are never formed.
"""

from jaxtyping import Float
from torch import Tensor

from headlight.tensors import Factor, Value, double


def per_head(value: Value, heads: int) -> Float[Tensor, "batch head key head_dim"]:
    """Repeat the values of grouped heads so that every head has its own."""
    if value.shape[1] == heads:
        return value
    return value.repeat_interleave(heads // value.shape[1], dim=1)


def compressed(value: Value, factor: Factor) -> Float[Tensor, "batch head key head_dim"]:
    """Return f_h(x_j) in an orthonormal basis of its space: head_dim numbers instead of d_model.

    With W_h = R_h Q_h and orthonormal rows in Q_h, f = v W_h has the coordinates v R_h, the same
    length and the same inner products within the head; T_h has the same left singular vectors and
    singular values.  The result is float64.
    """
    batch, groups, keys, size = value.shape
    rows = double(value.transpose(0, 1)).reshape(groups, batch * keys, size)
    # The factors of heads that share values stand side by side.
    beside = double(factor).view(groups, -1, *factor.shape[1:]).transpose(1, 2).flatten(2)
    products = (rows @ beside).view(groups, batch, keys, -1, factor.shape[2])
    return products.permute(1, 0, 3, 2, 4).flatten(1, 2)
