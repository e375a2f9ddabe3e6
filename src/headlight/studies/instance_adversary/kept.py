"""The attention that was found for a text, so that its divergence can be recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from jaxtyping import Float, Float64

from headlight.analysis.classifiers.components import Component, by_scope
from headlight.analysis.positions import array
from headlight.capture import AttentionSite
from headlight.measures.adversaries import Adversaries
from headlight.studies.instance_adversary.search import SearchVariables

Weights = Float[np.ndarray, "batch head query key"]
SCOPES = {(True, True): "", (False, True): "layer_", (False, False): "head_"}
"""Prefixes of names, by whether all layers, and all heads of a layer, were free."""


@dataclass(frozen=True, eq=False)
class Found:
    """What was found for the texts of a batch where one component was free.

    Attributes:
        weight: by layer, of the heads that were free.
        jsd: see `Adversaries`.
        moved: see `Adversaries`.
    """

    weight: Mapping[int, Weights]
    jsd: Float64[np.ndarray, " batch"]
    moved: Float64[np.ndarray, " batch"]

    @staticmethod
    def of(found: Adversaries, parts: Sequence[SearchVariables]) -> "Found":
        """Rows that were free together, as the attention of each layer."""
        shapes = [part.weight.shape[1:3] for part in parts]
        rows = torch.split_with_sizes(found.weight, [heads * size for heads, size in shapes], 1)
        weight = {
            part.site.layer: each.reshape(len(each), *shape, -1).cpu().numpy()
            for part, each, shape in zip(parts, rows, shapes, strict=True)
        }
        return Found(weight, array(found.jsd), array(found.moved))


def own_attention(parts: Sequence[SearchVariables]) -> dict[int, Weights]:
    """The attention of the model itself, by layer."""
    return {part.site.layer: part.weight.cpu().numpy() for part in parts}


def kept_attention(
    sites: Sequence[AttentionSite],
    own: Mapping[int, Weights],
    found: Mapping[Component, Found],
    row: int,
    size: tuple[int, int],
) -> xarray.Dataset:
    """One text: ``weight`` of the model, and of each scope the ``other`` attention.

    Args:
        sites: the layers.
        own: the attention of the model, by layer.
        found: by the component that was free.
        row: of the text in the batch.
        size: queries and keys of the text.

    Returns:
        over ``layer head query key`` (NaN beyond the heads of a layer) ``weight``, and ``other``,
        ``layer_other`` and ``head_other`` as far as they were looked for, with ``jsd`` and
        ``moved`` of each.
    """
    axes = ("layer", "head", "query", "key")
    shape = (len(sites), max(site.heads for site in sites), *size)
    empty = np.full(shape, np.nan, dtype=np.float32)
    at = {site.layer: number for number, site in enumerate(sites)}
    arrays = {"weight": empty.copy()}
    for layer, weight in own.items():
        arrays["weight"][at[layer], : weight.shape[1]] = _text(weight, row, size)
    for (layer_free, head), each in found.items():
        scope = SCOPES[layer_free is None, head is None]
        other = arrays.setdefault(f"{scope}other", empty.copy())
        for layer, weight in each.weight.items():
            heads = slice(0, weight.shape[1]) if head is None else slice(head, head + 1)
            other[at[layer], heads] = _text(weight, row, size)
    variables = {name: (axes, values) for name, values in arrays.items()}
    made = xarray.Dataset(variables, coords={"layer": list(at)})
    for name in ("jsd", "moved"):
        values = np.array([getattr(each, name)[row] for each in found.values()])
        scopes = by_scope(values, list(found), sites)
        made = made.assign({f"{scope}{name}": each for scope, each in scopes.items()})
    return made


def _text(weight: Weights, row: int, size: tuple[int, int]) -> Float[np.ndarray, "head query key"]:
    """Without padding."""
    return weight[row, :, : size[0], : size[1]]
