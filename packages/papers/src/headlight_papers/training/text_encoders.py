"""Encoders of the words of a text: LSTM, the words alone, a Transformer layer."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

LONGEST_WAVE = 10_000.0


def timing_signal(words: int, width: int) -> Float[Tensor, "words width"]:
    """Return sines and cosines of wave lengths from 2π to 10,000 · 2π, side by side."""
    half = width // 2
    # With a single wave there are no steps between waves, and nothing to divide by.
    rate = torch.exp(torch.arange(half) * -(math.log(LONGEST_WAVE) / max(half - 1, 1)))
    angle = torch.arange(words)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], -1)


Encoder = Literal["lstm", "average", "transformer"]
"""States of words before they are weighed: of an LSTM in both directions, of words alone (an affine
map and tanh), or of one Transformer layer, which the papers do not have."""

HIDDEN = 128
"""Width of an LSTM in one direction, and of the map before attention."""

HEADS = 4

Embedded = Float[Tensor, "text position embedding"]
States = Float[Tensor, "text position state"]

Real = Bool[Tensor, "text position"]


class LSTMEncoder(nn.Module):
    """Encoder of one LSTM from the left and one from the right, their states side by side.

    Each is a layer of its own, so that the second can begin at the last word of each text: packed
    sequences would do the same, and took 2 to 10 times as long on a CPU.
    """

    def __init__(self, embedded: int) -> None:
        super().__init__()
        self.right = nn.LSTM(embedded, HIDDEN, batch_first=True)
        self.left = nn.LSTM(embedded, HIDDEN, batch_first=True)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """Return the states of both directions."""
        # Turned around within its words, each text begins with its last word for the second LSTM.
        places = _reversed(real)[..., None]
        turned = embedded.gather(1, places.expand_as(embedded))
        left_states = self.left(turned)[0]
        left_states = left_states.gather(1, places.expand_as(left_states))
        return torch.cat([self.right(embedded)[0], left_states], -1)


class AverageEncoder(nn.Module):
    """Each word by itself, as in the ``average`` encoder of Jain and Wallace.

    It is also the MLP of Wiegreffe and Pinter (2019), Section 3.4.
    """

    def __init__(self, embedded: int, width: int = 2 * HIDDEN) -> None:
        super().__init__()
        self.map = nn.Linear(embedded, width)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """Return states that depend on no other words."""
        states: Tensor = self.map(embedded).tanh()
        return states


class TransformerEncoder(nn.Module):
    """Encoder of one Transformer layer, normalised before each part, without dropout."""

    def __init__(self, embedded: int) -> None:
        super().__init__()
        self.map = nn.Linear(embedded, HIDDEN)
        self.layer = nn.TransformerEncoderLayer(
            HIDDEN, HEADS, 2 * HIDDEN, dropout=0.0, batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, embedded: Embedded, real: Real) -> States:
        """Return states that depend on all words and their places."""
        state = self.map(embedded) + timing_signal(embedded.shape[1], HIDDEN)
        states: Tensor = self.norm(self.layer(state, src_key_padding_mask=~real))
        return states


ENCODERS = {"lstm": LSTMEncoder, "average": AverageEncoder, "transformer": TransformerEncoder}
WIDTHS = {"lstm": 2 * HIDDEN, "average": 2 * HIDDEN, "transformer": HIDDEN}
"""Lengths of their states."""


def _reversed(real: Real) -> Int64[Tensor, "text position"]:
    # Padding stays behind the words, where both directions expect it.
    places = torch.arange(real.shape[1]).expand_as(real)
    return torch.where(real, real.sum(-1, keepdim=True) - 1 - places, places)
