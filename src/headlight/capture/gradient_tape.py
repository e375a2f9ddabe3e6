"""One backward pass that yields the gradients of attention weights, from the last layer down.

The graph begins as late as it can: at the queries of the first attention requested.  Nothing below
them is differentiated, and no parameter is, so that autograd keeps little and computes less than in
training.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.finite_numbers import require_finite
from headlight.capture.record import LayerRecord
from headlight.errors import CaptureError


class GradientTape:
    """Records of one batch that wait for their gradients, and the leaves of its graph.

    The tape holds no tensor of the graph but the leaves, so graph and tape die together.

    Args:
        visit: Function called with each record and its gradient while the backward pass runs.
    """

    def __init__(self, visit: Callable[[LayerRecord], object]) -> None:
        self._visit = visit
        self._leaves: list[Tensor] = []
        self._waiting: dict[int, LayerRecord] = {}

    def attach_leaf(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arguments of an attention function by which its weights can be differentiated."""
        query, key, *others = arguments
        if query.requires_grad or key.requires_grad:
            return arguments
        leaf = query.detach().requires_grad_()
        self._leaves.append(leaf)
        return (leaf, key, *others)

    def watch(self, index: int, record: LayerRecord) -> None:
        """Wait for the gradient of the weights in `record`, the site of number `index`."""
        weight = record.weight
        self._waiting[index] = replace(
            record,
            weight=weight.detach(),
            value=record.value.detach(),
            input=None if record.input is None else record.input.detach(),
            gate=None if record.gate is None else record.gate.detach(),
            residual=record.residual and record.residual.detached(),
        )
        if weight.requires_grad:
            weight.register_hook(partial(self._on_gradient, index))  # type: ignore[no-untyped-call]

    def run(self, losses: Float[Tensor, " batch"]) -> None:
        """Run backward once; every record that waits is visited on the way.

        Raises:
            CaptureError: the losses do not depend on the weights that some attention returned.
        """
        if self._leaves and losses.requires_grad:
            # Unused leaves are no error of torch's here: below they are refused by name.
            torch.autograd.grad(losses.sum(), self._leaves, allow_unused=True)
        if self._waiting:
            name = self._waiting[max(self._waiting)].site.name
            raise CaptureError(
                f"{name}: the loss does not depend on the weights that this attention returned, so "
                "they have no gradient; use a loss that does, or leave this layer out."
            )

    def _on_gradient(self, index: int, gradient: Tensor) -> None:
        """Visit the record with its gradient; a hook of the weights, called when it is complete."""
        record = self._waiting.pop(index)
        gradient = gradient.detach()
        if record.visible is not None:  # a weight that is zero by the mask is no variable
            gradient = gradient.masked_fill(~record.visible[:, None], 0.0)
        site = record.site
        require_finite(f"the gradient by the attention of {site.kind} layer {site.layer}", gradient)
        self._visit(replace(record, gradient=gradient))
