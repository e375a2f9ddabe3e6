"""The parts of every hidden token that come from each token of the text: tangents of the network.

Since the network is linear, its tangent in the direction of an embedding is what that embedding
adds (DecompX, Modarressi et al. 2023, without the sharing of biases).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jvp, vmap

from headlight.capture.attribution.forward import portions
from headlight.capture.attribution.model_run import Run
from headlight.capture.linear_network.addends import AddendKind
from headlight.capture.linear_network.rules import LinearRules
from headlight.settings.slopes import Slope


class Still:
    """Keeps nothing: what is added does not change."""

    tangents = True

    def addend(self, value: Tensor, kind: AddendKind, name: str) -> Tensor:
        """It stays."""
        return value

    def embedded(self, ids: Tensor, table: Tensor, value: Tensor) -> Tensor:
        """It stays."""
        return value

    def behind(self, found: Tensor) -> Tensor:
        """It stays."""
        return found

    def place(self) -> str:
        """Nobody asks."""
        return ""

    def name(self, value: Tensor) -> str | None:
        """Nobody asks."""
        return None


def token_parts(
    run: Run, memory: int, slope: Slope = "zero_origin"
) -> Iterator[tuple[slice, Float[Tensor, "key layer query d_model"]]]:
    """Yield what each token's embedding adds to each hidden token, at the output of each block.

    Args:
        run: a text in its model.
        memory: bytes for the tangents that run side by side.
        slope: of activations that are functions of torch.

    Returns:
        Some keys at a time, and their parts; the last layer is after the final norm.
    """
    still = torch.zeros_like(run.embedded)
    keys = run.embedded.shape[1]
    own = torch.eye(keys, dtype=still.dtype, device=still.device)[:, None, :, None] * run.embedded

    def hidden(change: Tensor) -> tuple[Tensor, ...]:
        with LinearRules(Still(), slope):  # within, so that it does not see what jvp does
            return run.hidden(change)

    def moved(tangent: Tensor) -> Tensor:
        return torch.stack(jvp(hidden, (still,), (tangent,))[1])

    for some in portions(run, keys, memory):
        yield some, vmap(moved)(own[some])
