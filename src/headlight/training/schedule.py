"""How the learning rate changes in training."""

WARM = 0.1
"""The share of steps before the highest rate; after it the rate falls to 0."""


def rate(step: int, steps: int) -> float:
    """The share of the highest learning rate: up in a straight line, then down to 0."""
    warm = max(1, round(WARM * steps))
    return min((step + 1) / warm, (steps - step) / (steps - warm + 1))
