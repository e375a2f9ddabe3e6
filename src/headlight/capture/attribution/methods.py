"""The contributions to one text: exact, or estimated with standard errors."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.capture.attribution.forward import (
    portions,
    squared_moves,
    token_maps,
)
from headlight.capture.attribution.model_run import Run
from headlight.capture.finite import require_finite
from headlight.encode.batch import Batch
from headlight.errors import CaptureError

Contribution = Float[Tensor, "layer query key"]


@dataclass(frozen=True)
class TextContributions:
    """The contributions of one text, and their standard errors where they are estimates."""

    contribution: Contribution
    standard_error: Contribution | None = None


def exact(run: Run, memory: int) -> TextContributions:
    """Contributions from ‖∂e_j/∂x_i‖_F: every dimension of every token is changed."""
    tokens, dimensions = run.embedded.shape[1:]
    squares: Tensor | None = None
    for keys, moved in _all_moves(run, torch.eye(dimensions).to(run.embedded), memory):
        if squares is None:
            squares = moved.new_zeros(moved.shape[0], tokens, moved.shape[2])
        squares.index_add_(1, keys.to(moved.device), moved)
    assert squares is not None  # noqa: S101 - a text has tokens
    return TextContributions(shares(squares.sqrt().transpose(1, 2)))


def estimate(
    run: Run, directions: int, generator: np.random.Generator, memory: int
) -> TextContributions:
    """Contributions from random changes of every token, the same for all tokens of a text.

    Since all tokens are changed in the same directions, much of the error is common to all
    contributions to a hidden token, and cancels in their shares.  With as many
    directions as dimensions the result is exact.
    """
    tokens, dimensions = run.embedded.shape[1:]
    directions = min(directions, dimensions)
    frame = random_frame(dimensions, directions, generator).to(run.embedded)
    parts = [moved for _, moved in _all_moves(run, frame, memory)]
    found = torch.cat(parts, 1)
    layers, _, queries = found.shape
    samples = found.reshape(layers, tokens, directions, queries).permute(0, 3, 1, 2)
    left = 1 - directions / dimensions  # of the directions: what was tried is known exactly
    return shares_of_samples(samples, left)


def _all_moves(
    run: Run, frame: Float[Tensor, "direction dimension"], memory: int
) -> Iterator[tuple[Int64[Tensor, " change"], Float64[Tensor, "layer change query"]]]:
    """Every token changed in every direction: which tokens, and how far hidden ones then move."""
    tokens, directions = run.embedded.shape[1], len(frame)
    maps, rest = token_maps(run, tokens * directions, memory)
    for part in portions(run, tokens * directions, rest):
        change = torch.arange(part.start, min(part.stop, tokens * directions))
        keys = change // directions
        yield keys, squared_moves(run, frame[change % directions], keys, maps).double()


def shares(size: Float[Tensor, "layer query key"]) -> Contribution:
    """Eq. 11: sizes divided by their sum over the input tokens.

    Raises:
        CaptureError: a hidden token depends on no input token, or in a way that is not finite.
    """
    whole = size.sum(-1, keepdim=True)
    require_finite("the derivative of a hidden token by the input embeddings", whole[None])
    if not bool((whole > 0).all()):
        raise CaptureError(
            "a hidden token has derivatives by the input embeddings that are all 0, so "
            "contributions to it are not defined."
        )
    return size / whole


def shares_of_samples(
    samples: Float[Tensor, "layer query key direction"], left: float
) -> TextContributions:
    """Contributions from ‖Jz‖² of each direction, with standard errors by the delta method.

    Args:
        samples: ‖Jz‖², whose expectation is ‖J‖_F².
        left: the share of the directions that was not tried; it scales the variance, as in samples
            without replacement.
    """
    size = samples.mean(-1).sqrt()
    contribution = shares(size)
    # How c_ij moves with each direction, to first order: √ first, then the division by the sum.
    moved = (samples - samples.mean(-1, keepdim=True)) / (2 * size.clamp_min(1e-300))[..., None]
    moved = moved - contribution[..., None] * moved.sum(2, keepdim=True)
    moved = moved / size.sum(-1)[..., None, None]
    variance = moved.var(-1) * left / samples.shape[-1]
    return TextContributions(contribution, variance.sqrt())


def random_frame(
    dimensions: int, directions: int, generator: np.random.Generator
) -> Float[Tensor, "direction dimension"]:
    """Orthogonal directions of length √dimensions, uniformly distributed.

    For every matrix J the mean of ‖Jz‖² over them has the expectation ‖J‖_F² (Frobenius norm), with
    less variance than for independent directions, and none when there are as many as dimensions.
    """
    normal = generator.standard_normal((dimensions, directions))
    basis, triangle = np.linalg.qr(normal)
    basis = basis * np.sign(np.diagonal(triangle))  # without the signs it would not be uniform
    return torch.from_numpy(basis.T * np.sqrt(dimensions))


def generator_of(text: Batch, seed: int) -> np.random.Generator:
    """A generator for one text: that of its ids and of the seed, whatever batch it comes in."""
    ids = [text.input_ids] if text.target_ids is None else [text.input_ids, text.target_ids]
    digest = hashlib.sha256()
    for part in ids:
        digest.update(part.cpu().numpy().tobytes() + b"|")
    return np.random.default_rng([seed, int.from_bytes(digest.digest()[:8])])
