"""Weights moved among some keys of each row, and the change of predictions.

The weights of all other keys stay as they are; what a row gives to those that take part stays the
same in sum.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.measures import total_variation
from headlight.tensors import Weight
from headlight_papers.classifiers.predictors import Predictions

Keys = Bool[Tensor, "batch #head query key"]
"""Mask of the keys that take part in each row."""

Noise = Float[Tensor, "batch head query key"]
"""Random numbers from 0 to 1, all different."""

BEHIND = 2.0
"""Number that sorts behind all noise."""


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
    """Put all weight on the key that comes last in an order: the weights themselves, or noise."""
    wide = keys.expand(weight.shape)
    chosen = order.masked_fill(~wide, -torch.inf).argmax(-1, keepdim=True)
    on_last = torch.zeros_like(weight).scatter_(-1, chosen, 1.0)
    return torch.where(keys, on_last * _mass(weight, keys), weight)


def _mass(weight: Weight, keys: Keys) -> Float[Tensor, "batch head query 1"]:
    mass: Float[Tensor, "batch head query 1"] = (weight * keys).sum(-1, keepdim=True)
    return mass


def median_change(
    before: Predictions, after: Float[Tensor, "draw output class"]
) -> Float64[np.ndarray, " output"]:
    """Return the median over draws of the total variation distance that predictions move."""
    distance = total_variation(after, before.expand(after.shape))
    change: Float64[np.ndarray, " output"] = np.median(distance.double().numpy(), axis=0)
    return change
