"""Rollout: maps of layers, multiplied from the input on."""

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.errors import UsageError

Maps = Float[Tensor, "layer query key"]


def rollout(
    maps: Maps, *, residual: float | Float[Tensor, "layer query"] = 0.0, normalised: bool = False
) -> Maps:
    """Return R_l = A_l R_{l−1}: what each hidden token has of each input token, along all ways.

    Args:
        maps: Maps of all layers, from the first: what each token takes from each token.
        residual: Share r of A = (1 − r) M + r I that a token keeps of itself, a number for all
            tokens or for each.
        normalised: Whether the rows of the maps are made to sum to 1 first, so that maps and
            residual have the same unit.

    Returns:
        Products after each layer; rows sum to 1 if those of the maps do.

    Source: Abnar and Zuidema (2020), who take the mean weights of heads and r = ½.

    Raises:
        UsageError: the maps have not as many queries as keys.
    """
    if maps.shape[1] != maps.shape[2]:
        raise UsageError(
            f"maps of {maps.shape[1]} queries and {maps.shape[2]} keys cannot be multiplied; take "
            "attention of a text to itself."
        )
    mixed_maps = with_residual(shares(maps) if normalised else maps, residual)
    products = [mixed_maps[0]]
    for layer in mixed_maps[1:]:
        products.append(layer @ products[-1])
    return torch.stack(products)


def with_residual(maps: Maps, residual: float | Float[Tensor, "layer query"]) -> Maps:
    """Return (1 − r) M + r I of each layer."""
    residual_share = torch.as_tensor(residual, dtype=maps.dtype, device=maps.device)[..., None]
    alone = torch.eye(maps.shape[1], dtype=maps.dtype, device=maps.device)
    residual_share = residual_share.expand(*maps.shape[:2], 1)
    return (1 - residual_share) * maps + residual_share * alone


def shares(maps: Float[Tensor, "*layer query key"]) -> Float[Tensor, "*layer query key"]:
    """Return each row divided by its sum; rows of zeros stay."""
    whole = maps.sum(-1, keepdim=True)
    return maps / whole.where(whole != 0, 1)
