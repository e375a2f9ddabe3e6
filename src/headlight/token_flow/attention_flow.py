"""Attention flow: the maximum flow from the input to a token, through all layers."""

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from headlight.settings import require_place
from headlight.token_flow.rollout import with_residual

UNIT = 2**30
"""Capacity of a flow of 1: capacities are whole numbers."""


def attention_flow(
    maps: Float[Tensor, "layer query key"], token: int = -1, *, residual: float = 0.5
) -> Float[Tensor, " key"]:
    """Return the maximum flow from each input token to one token after the last of these layers.

    Every token after every layer is a node; the edge to a token of the layer before has what is
    taken from it as its capacity.  All ways to one input token are used at once, and those to the
    others are left out, so that the numbers are no shares.  Each input token takes a computation of
    its own over all edges: for few tokens of short texts.

    Args:
        maps: Maps of all layers up to the requested layer, from the first; rows sum to 1.
        token: Number of the hidden token; from the end if negative.
        residual: Share of each token that is the token itself.

    Returns:
        Flows between 0 and 1, to 10⁻⁹ for each edge; after one layer the row of its map.

    Raises:
        UsageError: there is no such token.

    Source: Abnar and Zuidema (2020), attention flow.
    """
    layers, tokens = maps.shape[:2]
    token = require_place("token", token, tokens)
    graph = _graph(with_residual(maps, residual).cpu().double().numpy())
    start = layers * tokens + token
    flows = [maximum_flow(graph, start, key).flow_value / UNIT for key in range(tokens)]
    return torch.tensor(flows, dtype=torch.float64)


def _graph(maps: Float[np.ndarray, "layer query key"]) -> csr_array:
    """Return the graph, whose node (l, i) is number l · tokens + i; input tokens come first."""
    layers, tokens = maps.shape[:2]
    # Rows sum to `UNIT`, so that capacities, and the flow into a token, fit int32.
    capacity = np.rint(maps * UNIT).astype(np.int32)
    layer, query, key = np.nonzero(capacity)
    size = (layers + 1) * tokens
    places = (layer + 1) * tokens + query, layer * tokens + key
    return csr_array(coo_array((capacity[layer, query, key], places), shape=(size, size)))
