"""Distances of keys: places beside the query, bins, and sums for their mean and variance."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.reduce.accumulator import Array
from headlight.vocabulary import DISTANCES, RELATIVE

POWERS = 3
"""Number of powers of the distance, from 0: their sums give its mean and variance."""

NUMBERS_OF_OFFSETS = len(RELATIVE) + len(DISTANCES) + POWERS
"""Number of columns of `offset_basis`."""


def offset_basis(size: int) -> Float[Tensor, "offset number"]:
    """Return `RELATIVE`, `DISTANCES` and powers of every offset in a text of this size."""
    offset = torch.arange(1 - size, size)
    distance = offset.abs()
    relative = offset[:, None] == torch.tensor(RELATIVE)
    edges = torch.tensor(DISTANCES)
    bins = torch.bucketize(distance, edges, right=True) - 1
    in_bin = bins[:, None] == torch.arange(len(edges))
    powers = distance.double()[:, None] ** torch.arange(POWERS)
    return torch.cat([relative.double(), in_bin.double(), powers], 1)


def distance_ratios(powers: Array) -> tuple[Array, Array]:
    """Return sums of distance and its square, with and without the first token, and wholes."""
    with_first, without = np.split(powers, 2, axis=-1)
    parts = np.concatenate([with_first[..., 1:], without[..., 1:]], -1)
    wholes = [np.repeat(sums[..., :1], POWERS - 1, -1) for sums in (with_first, without)]
    return parts, np.concatenate(wholes, -1)
