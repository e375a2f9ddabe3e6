"""Muon (Jordan et al. 2024) with matrices of one shape stacked, in a precision the device has.

Beside it stands the schedule of the learning rate of what is trained with it.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def iteration_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the device multiplies it itself; emulated it is ten times slower."""
    if device.type != "cpu":
        return torch.bfloat16
    capable = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)()
    return torch.bfloat16 if capable else torch.float32


def orthogonalise(update: Tensor) -> Tensor:
    """The nearest orthogonal matrix of each, roughly, by Newton and Schulz."""
    first, second, third = COEFFICIENTS
    tall = update.shape[-2] > update.shape[-1]
    x = update.to(iteration_dtype(update.device))
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = first * x + (second * gram + third * gram @ gram) @ x
    return (x.mT if tall else x).to(update.dtype)


class Muon(torch.optim.Optimizer):
    """Steps have the size that AdamW's have, so that one learning rate does for both.

    `torch.optim.Muon` does the same matrix by matrix and always in bfloat16.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.05,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(parameters, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One step with the gradients that the parameters hold."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in shapes.items():
                scale = 0.2 * max(shape) ** 0.5
                stepped = orthogonalise(torch.stack([self._nesterov(p, group) for p in parameters]))
                for parameter, change in zip(parameters, stepped, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(change, alpha=-group["lr"] * scale)

    def _nesterov(self, parameter: Tensor, group: dict[str, float]) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        buffer: Tensor = state["momentum"]
        gradient: Tensor = parameter.grad
        buffer.lerp_(gradient, 1 - group["momentum"])
        return gradient.lerp(buffer, group["momentum"])


def schedule(step: int, steps: int, warmup: int, decay: float) -> float:
    """Linear warm-up, constant, linear decay to zero over the last `decay` share."""
    tail = max(1, round(steps * decay))
    return min(1.0, (step + 1) / warmup, max(0.0, (steps - step) / tail))
