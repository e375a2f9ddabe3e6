"""Cosine distance and squared L2 distance, and their gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight_papers.studies.token_identity import Loss

_SMALLEST = 1e-8
"""Lengths below are taken for it, as in ``torch.nn.CosineSimilarity``."""

Rows = Float[Tensor, "*rows dim"]
Targets = Float[Tensor, "*#rows dim"]


def prepared(targets: Float[Tensor, "*rows dim"], loss: Loss) -> Float[Tensor, "*rows dim"]:
    """Targets as the other functions want them: for cosine distance, of length 1."""
    return unit(targets) if loss == "cosine" else targets


def unit(rows: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
    """Rows divided by their length."""
    length: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    return rows / length.clamp(min=_SMALLEST)


def gradient_(predicted: Rows, targets: Targets, loss: Loss, count: int) -> Rows:
    """Compute the gradient of the mean loss of `count` tokens by each prediction, in their memory.

    Cosine: d(1 − p·ŷ / ‖p‖)/dp = (p·ŷ / ‖p‖³) p − ŷ / ‖p‖.  L2, the mean square of an entry, as in
    ``torch.nn.MSELoss``: 2 (p − y) / dim.
    """
    if loss == "l2":
        return predicted.sub_(targets).mul_(2 / (count * predicted.shape[-1]))
    length = torch.linalg.vector_norm(predicted, dim=-1, keepdim=True).clamp_(min=_SMALLEST)
    # `torch.einsum` would be a product of matrices for each row, and might round it to bfloat16.
    along = torch.linalg.vecdot(predicted, targets).unsqueeze(-1)
    inverse = length.reciprocal_()
    return predicted.mul_(along * inverse**3 / count).addcmul_(targets, inverse, value=-1 / count)


def value(predicted: Rows, targets: Targets, loss: Loss) -> Float[Tensor, " *rows"]:
    """The loss of every token: 1 − cos, or the mean square of an entry of the difference."""
    if loss == "l2":
        return (predicted - targets).square().mean(-1)
    along: Tensor = torch.linalg.vecdot(predicted, targets)
    length: Tensor = torch.linalg.vector_norm(predicted, dim=-1).clamp(min=_SMALLEST)
    return 1 - along / length
