"""Search for the most different attention of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel
from headlight.encode.batch import Batch
from headlight.measures.adversaries import Adversaries, AdversarySearch
from headlight.observations.classifier_outputs import LabelPositions, Outputs
from headlight.tensors import Weight
from headlight_papers.classifiers.attention_search import search_attention
from headlight_papers.classifiers.predictors import CapturedPredictor


@dataclass(frozen=True, eq=False)
class SearchVariables:
    """Attention of a layer, or of one of its heads, that the search may change.

    Attributes:
        site: Site of the layer.
        weight: Attention of the layer or head.
        keys: Mask of the keys that take part in each row.
        start: Initial logits of the candidates.
        head: Number of the head; None for all heads.
    """

    site: AttentionSite
    weight: Weight
    keys: Bool[Tensor, "batch head query key"]
    start: Float[Tensor, "candidate batch head query key"]
    head: int | None = None

    def of_head(self, head: int) -> "SearchVariables":
        """Return the variables of one head of a layer."""
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
    """Search for the most different attention of the texts of a batch."""

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
            # MPS has no float64.
            exact = self.before.clone()  # where the model is, in the best precision that there is
            before = exact.float().to(device) if device.type == "mps" else exact.to(device)
        return search_attention(predictor, before, attention, self.search)
