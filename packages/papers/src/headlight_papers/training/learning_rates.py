"""Learning rates that rise and fall while a model is trained."""

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

WARM = 0.1
"""Share of steps before the peak rate, after which the rate falls to 0."""


def rate(step: int, steps: int) -> float:
    """Return the share of the peak learning rate: up in a straight line, then down to 0."""
    warm = max(1, round(WARM * steps))
    return min((step + 1) / warm, (steps - step) / (steps - warm + 1))


def rise_and_fall(optimizer: Optimizer, steps: int) -> LambdaLR:
    """Let the rate of an optimizer rise to its present value and fall to 0 over all steps."""
    return LambdaLR(optimizer, lambda step: rate(step, steps))
