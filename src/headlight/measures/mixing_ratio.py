"""Mixing ratio of a layer: the share of its output for a token that comes from other tokens.

Kobayashi et al. (2021); with the feed-forward network Kobayashi et al. (2024).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture import FrozenMap, LayerRecord
from headlight.measures import norms as norms
from headlight.measures.attention_block import WholeLayer
from headlight.measures.gated_heads import gated_weight

SCOPES = ("weight", "norm", "weight_residual", "norm_residual", "norm_residual_norm")
"""By attention weights (ATTN-W) and norms (ATTN-N); with the residual connection (ATTNRES-W,
ATTNRES-N); with the norm behind it as well (ATTNRESLN-N)."""

BEHIND_FEED_FORWARD = ("feed_forward_residual", "feed_forward_residual_norm")
"""As the last of `SCOPES`, and behind the feed-forward network and the residual connection around
it; and behind the norm that follows this."""


def mixing_ratios(record: LayerRecord) -> Float[Tensor, "scope batch query"]:
    """Compute r_i = ‖part of the others‖ / (‖part of the others‖ + ‖part of the token itself‖).

    There is one ratio for each of `SCOPES`.  By norms, the part of the others is Σ_{j≠i} F_ij as
    one vector, the output of W^O without b^O and without the own part, so that no pairs of
    positions are formed.  By weights, it is Σ_{j≠i} of the mean over heads, and the residual counts
    as much as all attention.  Where no norm follows the sum, the last scope equals the one before
    it.  NaN where both parts are zero.

    Args:
        record: Record of self-attention, with its residual.

    Returns:
        Ratios from 0 to 1; float32 or better.

    Raises:
        CaptureError: The residual was not captured.

    Source: Kobayashi et al. (2021).
    """
    weight = gated_weight(record.weight, record.gate)
    layer = WholeLayer(record, weight)
    self_parts = layer.self_parts
    assert self_parts is not None  # noqa: S101 - self-attention
    others = layer.all_parts - self_parts
    added = layer.apply_branch(others)
    kept = layer.apply_branch(self_parts) + layer.residual.given
    mean = weight.mean(1)
    diagonal = mean.diagonal(record.first, 1, 2)
    rest = mean.sum(-1) - diagonal
    return torch.stack(
        [
            _ratio(rest, diagonal),
            _ratio(_length(others), _length(self_parts)),
            _ratio(rest, diagonal + mean.sum(-1)),
            _ratio(_length(added), _length(kept)),
            _ratio(_length(layer.apply_norm(added)), _length(layer.apply_norm(kept))),
        ]
    )


def parts_of_block(
    record: LayerRecord,
) -> tuple[Float[Tensor, "batch query d_model"], Float[Tensor, "batch query d_model"]]:
    """Return the parts of others, and of the token itself, in the output of the attention block.

    Args:
        record: Record of self-attention, with its residual.

    Raises:
        CaptureError: The residual was not captured.
    """
    layer = WholeLayer(record, gated_weight(record.weight, record.gate))
    self_parts = layer.self_parts
    assert self_parts is not None  # noqa: S101 - self-attention
    added = layer.apply_branch(layer.all_parts - self_parts)
    kept = layer.apply_branch(self_parts) + layer.residual.given
    return layer.apply_norm(added), layer.apply_norm(kept)


def ratios_behind_feed_forward(
    others: Float[Tensor, "batch query d_model"],
    itself: Float[Tensor, "batch query d_model"],
    norm: FrozenMap | None,
) -> Float[Tensor, "scope batch query"]:
    """Compute r_i by `BEHIND_FEED_FORWARD`; the divisor of the norm is the same for both parts.

    Args:
        others: Part of other tokens in the sum behind the feed-forward network.
        itself: Part of the token itself.
        norm: Norm that follows the sum; where there is none, both scopes are the same.

    Source: Kobayashi et al. (2024).
    """
    behind = (others, itself) if norm is None else (norm.linear(others), norm.linear(itself))
    return torch.stack(
        [_ratio(_length(others), _length(itself)), _ratio(_length(behind[0]), _length(behind[1]))]
    )


def _length(vectors: Tensor) -> Tensor:
    length: Tensor = vectors.norm(dim=-1)
    return length


def _ratio(others: Tensor, itself: Tensor) -> Tensor:
    return others / (others + itself)
