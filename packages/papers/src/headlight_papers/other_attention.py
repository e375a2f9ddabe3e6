"""Other attention for the same text: the weights of each row, moved among some of its keys.

All functions take weights and the keys that may take part in each row, and leave the weights of all
other keys as they are; what a row gives to those that take part stays the same in sum.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.tensors import Weight

Keys = Bool[Tensor, "batch #head query key"]
"""Which keys take part in each row."""

Noise = Float[Tensor, "batch head query key"]
"""Random numbers from 0 to 1, all different."""

BEHIND = 2.0
"""Sorts behind all noise."""


def permuted(weight: Weight, keys: Keys, noise: Noise) -> Weight:
    """Return the weights permuted over the same keys, in the random order of the noise."""
    wide = keys.expand(weight.shape)
    places = (~wide).byte().argsort(dim=-1, stable=True)
    drawn = noise.masked_fill(~wide, BEHIND).argsort(dim=-1, stable=True)
    return torch.empty_like(weight).scatter_(-1, places, weight.gather(-1, drawn))


def uniform(weight: Weight, keys: Keys) -> Weight:
    """Return the same weight for every key."""
    share = _mass(weight, keys) / keys.sum(-1, keepdim=True).clamp_min(1)
    return torch.where(keys, share, weight)


def on_one(weight: Weight, keys: Keys, order: Float[Tensor, "batch head query key"]) -> Weight:
    """All weight on the key that comes last in an order: the weights themselves, or noise."""
    wide = keys.expand(weight.shape)
    chosen = order.masked_fill(~wide, -torch.inf).argmax(-1, keepdim=True)
    one = torch.zeros_like(weight).scatter_(-1, chosen, 1.0)
    return torch.where(keys, one * _mass(weight, keys), weight)


def _mass(weight: Weight, keys: Keys) -> Float[Tensor, "batch head query 1"]:
    """Return the total weight of a row on the keys that take part."""
    mass: Float[Tensor, "batch head query 1"] = (weight * keys).sum(-1, keepdim=True)
    return mass
