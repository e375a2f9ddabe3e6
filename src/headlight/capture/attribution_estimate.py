"""From how far hidden tokens move to contributions, exact or estimated with standard errors."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.capture.attribution_forward import portions, squared_moves
from headlight.capture.attribution_probes import random_frame
from headlight.capture.attribution_run import Run
from headlight.errors import CaptureError

Contribution = Float[Tensor, "layer query key"]


@dataclass(frozen=True)
class Found:
    """The contributions of one text, and their standard errors where they are estimates."""

    contribution: Contribution
    standard_error: Contribution | None = None


def exact(run: Run, memory: int) -> Found:
    """Contributions from ‖∂e_j/∂x_i‖_F: every dimension of every token is changed."""
    tokens, dimensions = run.embedded.shape[1:]
    squares: Tensor | None = None
    for part in portions(run, tokens * dimensions, memory):
        change = torch.arange(part.start, min(part.stop, tokens * dimensions))
        keys, dimension = change // dimensions, change % dimensions
        basis = torch.nn.functional.one_hot(dimension, dimensions).to(run.embedded)
        moved = squared_moves(run, basis, keys).double()
        if squares is None:
            squares = moved.new_zeros(moved.shape[0], tokens, moved.shape[2])
        squares.index_add_(1, keys.to(moved.device), moved)
    assert squares is not None  # noqa: S101 - a text has tokens
    return Found(shares(squares.sqrt().transpose(1, 2)))


def estimate(run: Run, probes: int, generator: np.random.Generator, memory: int) -> Found:
    """Contributions from random changes of every token, the same for all tokens of a text.

    Since all tokens are changed in the same directions, much of the error is common to all
    contributions to a hidden token, and cancels in their shares.  With as many probes as
    dimensions the result is exact.
    """
    tokens, dimensions = run.embedded.shape[1:]
    probes = min(probes, dimensions)
    frame = random_frame(dimensions, probes, generator).to(run.embedded)
    parts = []
    for part in portions(run, tokens * probes, memory):
        change = torch.arange(part.start, min(part.stop, tokens * probes))
        parts.append(squared_moves(run, frame[change % probes], change // probes).double())
    found = torch.cat(parts, 1)
    layers, _, queries = found.shape
    samples = found.reshape(layers, tokens, probes, queries).permute(0, 3, 1, 2)
    left = 1 - probes / dimensions  # of the directions: what was tried is known exactly
    return shares_of_samples(samples, left)


def shares(size: Float[Tensor, "layer query key"]) -> Contribution:
    """Eq. 11: sizes divided by their sum over the input tokens.

    Raises:
        CaptureError: a hidden token depends on no input token, or in a way that is not finite.
    """
    whole = size.sum(-1, keepdim=True)
    if not bool((whole > 0).all() and whole.isfinite().all()):
        raise CaptureError(
            "a hidden token has derivatives by the input embeddings that are all 0 or not finite, "
            "so contributions to it are not defined."
        )
    return size / whole


def shares_of_samples(samples: Float[Tensor, "layer query key probe"], left: float) -> Found:
    """Contributions from ‖Jz‖² of each probe, with standard errors by the delta method.

    Args:
        samples: ‖Jz‖², whose expectation is ‖J‖_F².
        left: the share of the directions that was not tried; it scales the variance, as in samples
            without replacement.
    """
    size = samples.mean(-1).sqrt()
    contribution = shares(size)
    # How c_ij moves with each probe, to first order: √ first, then the division by the sum.
    moved = (samples - samples.mean(-1, keepdim=True)) / (2 * size.clamp_min(1e-300))[..., None]
    moved = moved - contribution[..., None] * moved.sum(2, keepdim=True)
    moved = moved / size.sum(-1)[..., None, None]
    variance = moved.var(-1) * left / samples.shape[-1]
    return Found(contribution, variance.sqrt())
