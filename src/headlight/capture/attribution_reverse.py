"""Reverse mode: the gradient of the sum of a hidden token's dimensions by all input tokens."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.attribution_estimate import Found, shares
from headlight.capture.attribution_forward import bytes_of_a_change
from headlight.capture.attribution_run import Run
from headlight.capture.backward import frozen
from headlight.errors import CaptureError

NOISE = 1e-4
"""Gradients of a sum that are not so large beside that of an alternating one are rounding error.

Norms are computed in float32 by many models in float64, too.
"""


def summed(run: Run, memory: int) -> Found:
    """Contributions from L2 norms of ∂(Σ_m e_jm)/∂x_i, exactly: one gradient for each j and block.

    It gives all input tokens at once, where forward mode needs a pass for each of their dimensions.

    Raises:
        CaptureError: the sum is the same whatever the input is.
    """
    with frozen(run.model), torch.enable_grad():
        change = torch.zeros_like(run.embedded).requires_grad_()
        states = run.hidden(change)
        sizes = [_gradients(run, state, change, memory) for state in states]
    return Found(shares(torch.stack(sizes).double()))


def _gradients(run: Run, state: Tensor, change: Tensor, memory: int) -> Float[Tensor, "query key"]:
    which = torch.eye(len(state)).to(state)
    portion = max(1, memory // bytes_of_a_change(run))
    rows = [_sizes(state.sum(-1), change, part) for part in torch.split(which, portion)]
    size = torch.cat(rows)
    _demand_varying(state, change, size)
    return size


def _sizes(output: Tensor, change: Tensor, cotangents: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(
        output, change, cotangents, is_grads_batched=True, retain_graph=True
    )
    size: Tensor = gradient[:, 0].norm(dim=-1)
    return size


def _demand_varying(state: Tensor, change: Tensor, size: Tensor) -> None:
    """A layer norm with equal weights makes the sum constant; what is left is rounding error."""
    signs = 1 - 2 * (torch.arange(state.numel()) % 2).to(state).reshape(state.shape)
    (gradient,) = torch.autograd.grad((state * signs).sum(), change, retain_graph=True)
    if not bool(size.max() > NOISE * gradient.norm()):
        raise CaptureError(
            "the sum over the dimensions of a hidden token does not depend on the input (its layer "
            "norm has equal weights everywhere), so the definition 'summed' says nothing about "
            "this model; use 'jacobian'."
        )
