"""Gradient times input: contribution of the embedding of every token to a score, to first order."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.captured_model import CapturedModel
from headlight.capture.differentiation import check_differentiable, frozen
from headlight.encode.batch import Batch
from headlight.errors import UsageError


def input_times_gradient(
    model: CapturedModel, batch: Batch, score: Callable[[Any], Float[Tensor, " batch"]]
) -> Float[Tensor, "batch token"]:
    """Return Σ_d x_d ∂s/∂x_d, where x is the embedding of a token as it leaves its table.

    Args:
        model: Model that reads the batch.
        batch: Batch of texts.
        score: Function from the output of the model to the score of each text, which depends on
            that text alone.

    Raises:
        UsageError: the model has no table of embeddings, or nothing of it can be differentiated.
    """
    network: Any = model.transformer
    reader = network.get_encoder() if model.reads_twice else network
    table = reader.get_input_embeddings()
    if table is None:
        raise UsageError(
            f"{model} has no input embeddings by which its prediction could be "
            "differentiated; "
            "leave gradient_input out of the measures."
        )
    check_differentiable(network, model.name)
    leaves: list[Tensor] = []

    def root(_: object, __: object, embedded: Tensor) -> Tensor:
        leaves.append(embedded.detach().requires_grad_())
        return leaves[-1]

    handle = table.register_forward_hook(root)
    try:
        with (
            model.running(batch.names),
            frozen(network),
            torch.inference_mode(mode=False),
            torch.enable_grad(),
        ):
            scores = score(network(**model.inputs(batch)))
            # A decoder may read the same table again: the first leaf is that of the text.
            (gradient,) = torch.autograd.grad(scores.sum(), leaves[:1])
    finally:
        handle.remove()
    products: Float[Tensor, "batch token"] = (gradient * leaves[0].detach()).sum(-1)
    return products
