"""Random directions in which input embeddings are changed."""

import hashlib

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.encode.batch import Batch


def random_frame(
    dimensions: int, probes: int, generator: np.random.Generator
) -> Float[Tensor, "probe dimension"]:
    """Orthogonal directions of length √dimensions, uniformly distributed.

    For every matrix J the mean of ‖Jz‖² over them has the expectation ‖J‖_F² (Frobenius norm), with
    less variance than for independent directions, and none when there are as many as dimensions.
    """
    normal = generator.standard_normal((dimensions, probes))
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
