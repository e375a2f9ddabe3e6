"""Kept attention of each text, as found by the search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64

from headlight.capture import AttentionSite
from headlight.measures.adversaries import Adversaries
from headlight.observations.components import Component, by_scope
from headlight.observations.layer_arrays import array
from headlight_papers.studies.instance_adversary.search import SearchVariables

Weights = Float[np.ndarray, "batch head query key"]
SCOPES = {(True, True): "", (False, True): "layer_", (False, False): "head_"}
"""Prefixes of names, by whether all layers, and all heads of a layer, were free."""


@dataclass(frozen=True, eq=False)
class Found:
    """Adversaries of the texts of a batch where one component was free.

    Attributes:
        weight: Attention of the heads that were free, by layer.
        jsd: See `Adversaries`.
        moved: See `Adversaries`.
    """

    weight: Mapping[int, Weights]
    jsd: Float64[np.ndarray, " batch"]
    moved: Float64[np.ndarray, " batch"]

    @staticmethod
    def from_search(search: Adversaries, parts: Sequence[SearchVariables]) -> "Found":
        """Split rows that were free together into the attention of each layer."""
        shapes = [part.weight.shape[1:3] for part in parts]
        rows = torch.split_with_sizes(search.weight, [heads * size for heads, size in shapes], 1)
        weight = {
            part.site.layer: rows_of_layer.reshape(len(rows_of_layer), *shape, -1).cpu().numpy()
            for part, rows_of_layer, shape in zip(parts, rows, shapes, strict=True)
        }
        return Found(weight, array(search.jsd), array(search.moved))


def own_attention(parts: Sequence[SearchVariables]) -> dict[int, Weights]:
    """Return the attention of the model itself, by layer."""
    return {part.site.layer: part.weight.cpu().numpy() for part in parts}


def kept_attention(
    sites: Sequence[AttentionSite],
    model_weights: Mapping[int, Weights],
    alternatives: Mapping[Component, Found],
    row: int,
    size: tuple[int, int],
) -> xarray.Dataset:
    """Return ``weight`` of the model for one text, and the ``other`` attention of each scope.

    Returns:
        over ``layer head query key`` (NaN beyond the heads of a layer) ``weight``, and ``other``,
        ``layer_other`` and ``head_other`` as far as they were searched, with ``jsd`` and
        ``moved`` of each.
    """
    axes = ("layer", "head", "query", "key")
    shape = (len(sites), max(site.heads for site in sites), *size)
    empty = np.full(shape, np.nan, dtype=np.float32)
    at = {site.layer: number for number, site in enumerate(sites)}
    arrays = {"weight": empty.copy()}
    for layer, weight in model_weights.items():
        arrays["weight"][at[layer], : weight.shape[1]] = _text(weight, row, size)
    for (layer_free, head), found_attention in alternatives.items():
        scope = SCOPES[layer_free is None, head is None]
        other = arrays.setdefault(f"{scope}other", empty.copy())
        for layer, weight in found_attention.weight.items():
            heads = slice(0, weight.shape[1]) if head is None else slice(head, head + 1)
            other[at[layer], heads] = _text(weight, row, size)
    variables = {name: (axes, values) for name, values in arrays.items()}
    result = xarray.Dataset(variables, coords={"layer": list(at)})
    for name in ("jsd", "moved"):
        values = np.array(
            [getattr(alternative, name)[row] for alternative in alternatives.values()]
        )
        scopes = by_scope(values, list(alternatives), sites)
        result = result.assign(
            {f"{scope}{name}": scope_values for scope, scope_values in scopes.items()}
        )
    return result


def _text(weight: Weights, row: int, size: tuple[int, int]) -> Float[np.ndarray, "head query key"]:
    return weight[row, :, : size[0], : size[1]]
