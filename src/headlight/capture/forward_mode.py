"""Forward mode: one change of one input token, and how far every hidden token moves.

All blocks and all positions come at once.  Changes run side by side (`vmap`), the text itself runs
once for all of them.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import jvp, vmap
from transformers.pytorch_utils import Conv1D

from headlight.capture.embedding_changes import Run
from headlight.errors import UnsupportedModelError

SquaredMoves = Float[Tensor, "layer change query"]
"""‖∂e_j/∂x_i z‖² of the change z of token i, for each hidden token j (query) of each block."""


def squared_moves(
    run: Run, changes: Float[Tensor, "change dimension"], keys: Int64[Tensor, " change"]
) -> SquaredMoves:
    """Compute the squared change of all hidden tokens per unit of each change.

    Args:
        run: Text in its model.
        changes: Directions z.
        keys: Token i that each direction changes.
    """
    _load_rules()
    still = torch.zeros_like(run.embedded)
    tangents = still.expand(len(keys), *still.shape).clone()
    tangents[torch.arange(len(keys)), 0, keys] = changes

    def moved(tangent: Tensor) -> Tensor:
        moves = jvp(run.hidden, (still,), (tangent,))[1]
        return torch.stack([move.square().sum(-1) for move in moves])

    squares: Tensor = vmap(moved, out_dims=1)(tangents)
    return squares


@cache
def _load_rules() -> None:
    # torch loads its rules at the first use, and warns of its own use of TorchScript.
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.filterwarnings("ignore", message=".*torch.jit.script")
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))  # type: ignore[no-untyped-call]


def portions(run: Run, changes: int, memory: int) -> Iterator[slice]:
    """Return slices of as many changes at a time as fit into `memory` bytes."""
    size = max(1, int(memory // bytes_of_a_change(run)))
    return (slice(start, start + size) for start in range(0, changes, size))


def bytes_of_a_change(run: Run) -> int:
    """Return the most bytes of a tangent: hidden states, and the widest values between them.

    At its widest place a block holds some eight tensors, of the width of its widest linear map or
    of a number for every head and pair of tokens.
    """
    tokens = max(run.tokens, *(shape[1] for shape in run.shapes))
    head = run.model.get_output_embeddings()  # cut off while the model runs
    widest = max(_width(module) for module in run.model.modules() if module is not head)
    heads = max(getattr(run.model.config, "num_attention_heads", 1), 1)
    numbers = sum(shape.numel() for shape in run.shapes) + 8 * tokens * max(widest, heads * tokens)
    return numbers * run.embedded.element_size()


def _width(module: nn.Module) -> int:
    if isinstance(module, nn.Linear):
        return max(module.out_features, module.in_features)
    return int(module.nf) if isinstance(module, Conv1D) else 1


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Name, within the block, the operation of a model without a derivative in forward mode.

    Raises:
        UnsupportedModelError: there is such an operation.
    """
    try:
        yield
    except (NotImplementedError, RuntimeError) as problem:
        match = re.search(r"forward AD with (\w+)", str(problem))
        if match is None and not re.search("^vmap:|functorch", str(problem)):
            raise
        operation = match[1] if match else str(problem).partition("\n")[0].rstrip(".")
        raise UnsupportedModelError(
            f"{name} uses an operation that PyTorch cannot differentiate in forward mode "
            f"({operation}), so contributions to its hidden tokens cannot be computed."
        ) from problem
