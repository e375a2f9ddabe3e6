"""Where words stand, as sines and cosines."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

LONGEST_WAVE = 10_000.0


def timing_signal(words: int, width: int) -> Float[Tensor, "words width"]:
    """Sines and cosines of wave lengths from 2π to 10,000 · 2π, side by side."""
    half = width // 2
    rate = torch.exp(torch.arange(half) * -(math.log(LONGEST_WAVE) / max(half - 1, 1)))
    angle = torch.arange(words)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], -1)
