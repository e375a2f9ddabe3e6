"""Parts of each hidden token by the embedding that they are from, as tangents of the network.

The tangent of the whole network in the direction of an embedding is what that embedding adds to a
hidden token (DecompX, Modarressi et al. 2023, without the sharing of biases).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jvp, vmap

from headlight.capture.embedding_changes import Run
from headlight.capture.forward_mode import portions
from headlight.capture.linear_network.addends import Still
from headlight.capture.linear_network.rules import LinearRules
from headlight.settings.attribution import Slope


def token_parts(
    run: Run, memory: int, slope: Slope = "zero_origin"
) -> Iterator[tuple[slice, Float[Tensor, "key layer query d_model"]]]:
    """Yield the parts that each token's embedding adds to hidden tokens, at each block's output.

    Args:
        run: Text in its model.
        memory: Bytes for the tangents that run side by side.
        slope: Slope of activations that are functions of torch.

    Returns:
        Some keys at a time, with their parts; the last layer is after the final norm.
    """
    still = torch.zeros_like(run.embedded)
    keys = run.embedded.shape[1]
    embeddings = (
        torch.eye(keys, dtype=still.dtype, device=still.device)[:, None, :, None] * run.embedded
    )

    def hidden(change: Tensor) -> tuple[Tensor, ...]:
        with LinearRules(Still(), slope):  # inside of jvp, whose own functions need no rules
            return run.hidden(change)

    def moved(tangent: Tensor) -> Tensor:
        return torch.stack(jvp(hidden, (still,), (tangent,))[1])

    for some in portions(run, keys, memory):
        yield some, vmap(moved)(embeddings[some])
