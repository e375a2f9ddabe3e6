"""The search for the most different attention of a batch, and how what it finds is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.analysis.classifier_outputs import LabelPositions, Outputs
from headlight.analysis.components import Component, by_scope
from headlight.analysis.layer_arrays import array
from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.encode.batch import Batch
from headlight.measures import Scores
from headlight.measures.adversaries import Adversaries, AdversarySearch
from headlight.measures.alternatives import RowAlternatives, column_basis
from headlight.measures.null_space import with_ones
from headlight.tensors import Weight
from headlight_papers.classifiers.attention_search import search_attention
from headlight_papers.classifiers.key_masks import KeyMask
from headlight_papers.classifiers.predictors import CapturedPredictor
from headlight_papers.studies.instance_adversary import Exact


@dataclass(frozen=True, eq=False)
class SearchVariables:
    """The attention of a layer, or of one of its heads, that may be another.

    Attributes:
        site: the layer.
        weight: its attention.
        keys: which keys take part in which rows.
        start: logits of the candidates to begin with.
        head: which; None for all heads.
    """

    site: AttentionSite
    weight: Weight
    keys: Bool[Tensor, "batch head query key"]
    start: Float[Tensor, "candidate batch head query key"]
    head: int | None = None

    def of_head(self, head: int) -> "SearchVariables":
        """One head of a layer."""
        only = slice(head, head + 1)
        return replace(
            self,
            weight=self.weight[:, only],
            keys=self.keys[:, only],
            start=self.start[:, :, only],
            head=head,
        )


@dataclass(eq=False, repr=False)
class InstanceSearch:
    """Looks for the most different attention of the texts of a batch."""

    model: CapturedModel
    batch: Batch
    positions: LabelPositions
    before: Outputs
    search: AdversarySearch

    def run(self, parts: Sequence[SearchVariables]) -> Adversaries:
        """Search for adversaries where all of these parts may change at once."""
        sites, head = [part.site for part in parts], parts[0].head
        predictor = CapturedPredictor(self.model, self.batch, self.positions, sites, (None, head))
        attention = (
            torch.cat([part.weight.flatten(1, 2) for part in parts], 1),
            torch.cat([part.keys.flatten(1, 2) for part in parts], 1),
            torch.cat([part.start.flatten(2, 3) for part in parts], 2),
        )
        device = self.model.transformer.device
        with torch.inference_mode(mode=False):
            exact = self.before.clone()  # where the model is, in the best precision that there is
            before = exact.float().to(device) if device.type == "mps" else exact.to(device)
        return search_attention(predictor, before, attention, self.search)


GENERATOR = np.random.default_rng(0)
"""Random generator of further starts, of which there are none."""

Layer = Float64[np.ndarray, "batch head query key"]


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Other attention of a layer, whose heads put out what they did.

    Attributes:
        weight: the attention; rows without an alternative are what they were.
        exists: whether a row has any.
    """

    weight: Layer
    exists: Bool[np.ndarray, "batch head query"]


def exact_rows(record: LayerRecord, keys: KeyMask, which: Exact) -> ExactRows:
    """An alternative of each row that takes part, in the left null space of [T, 1].

    Args:
        record: of the layer.
        keys: which keys take part in which rows.
        which: the first corner, or the farthest that climbing from there finds.

    Source: Brunner et al. (2020), Section 3.3.
    """
    weight = array(record.weight)
    exists = np.zeros(weight.shape[:-1], dtype=bool)
    columns = array(with_ones(Scores(record).transformed))
    width = record.site.projection.weight.shape[2] + 1
    key_mask = keys[:, 0].cpu().numpy()
    for text, head in np.ndindex(*weight.shape[:2]):
        bases: dict[bytes, Float64[np.ndarray, "key column"]] = {}
        for query in np.flatnonzero(key_mask[text].any(-1)):
            part = key_mask[text, query]
            name = part.tobytes()
            if name not in bases:
                bases[name] = column_basis(columns[text, head][part], width)
            row = RowAlternatives(weight[text, head, query, part], bases[name])
            exists[text, head, query] = row.exist
            if row.exist:
                climbed = which == "farthest"
                change = row.farthest(GENERATOR, 1)[0] if climbed else row.corner()
                weight[text, head, query, part] = np.maximum(row.row + change, 0)
    return ExactRows(weight, exists)


Weights = Float[np.ndarray, "batch head query key"]
SCOPES = {(True, True): "", (False, True): "layer_", (False, False): "head_"}
"""Prefixes of names, by whether all layers, and all heads of a layer, were free."""


@dataclass(frozen=True, eq=False)
class Found:
    """Adversaries of the texts of a batch where one component was free.

    Attributes:
        weight: by layer, of the heads that were free.
        jsd: see `Adversaries`.
        moved: see `Adversaries`.
    """

    weight: Mapping[int, Weights]
    jsd: Float64[np.ndarray, " batch"]
    moved: Float64[np.ndarray, " batch"]

    @staticmethod
    def of(search: Adversaries, parts: Sequence[SearchVariables]) -> "Found":
        """Rows that were free together, as the attention of each layer."""
        shapes = [part.weight.shape[1:3] for part in parts]
        rows = torch.split_with_sizes(search.weight, [heads * size for heads, size in shapes], 1)
        weight = {
            part.site.layer: each.reshape(len(each), *shape, -1).cpu().numpy()
            for part, each, shape in zip(parts, rows, shapes, strict=True)
        }
        return Found(weight, array(search.jsd), array(search.moved))


def own_attention(parts: Sequence[SearchVariables]) -> dict[int, Weights]:
    """The attention of the model itself, by layer."""
    return {part.site.layer: part.weight.cpu().numpy() for part in parts}


def kept_attention(
    sites: Sequence[AttentionSite],
    own: Mapping[int, Weights],
    alternatives: Mapping[Component, Found],
    row: int,
    size: tuple[int, int],
) -> xarray.Dataset:
    """One text: ``weight`` of the model, and of each scope the ``other`` attention.

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
    for (layer_free, head), each in alternatives.items():
        scope = SCOPES[layer_free is None, head is None]
        other = arrays.setdefault(f"{scope}other", empty.copy())
        for layer, weight in each.weight.items():
            heads = slice(0, weight.shape[1]) if head is None else slice(head, head + 1)
            other[at[layer], heads] = _text(weight, row, size)
    variables = {name: (axes, values) for name, values in arrays.items()}
    result = xarray.Dataset(variables, coords={"layer": list(at)})
    for name in ("jsd", "moved"):
        values = np.array([getattr(each, name)[row] for each in alternatives.values()])
        scopes = by_scope(values, list(alternatives), sites)
        result = result.assign({f"{scope}{name}": each for scope, each in scopes.items()})
    return result


def _text(weight: Weights, row: int, size: tuple[int, int]) -> Float[np.ndarray, "head query key"]:
    """Without padding."""
    return weight[row, :, : size[0], : size[1]]
