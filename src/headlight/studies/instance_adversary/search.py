"""The search for the most different attention of a batch, in the model itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.classifiers.plan import LabelPositions, Outputs
from headlight.analysis.classifiers.predictor import CapturedPredictor, search_attention
from headlight.capture import AttentionSite, CapturedModel
from headlight.encode.batch import Batch
from headlight.measures.adversaries import Adversaries, AdversarySearch
from headlight.shapes import Weight


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


class InstanceSearch:
    """Looks for the most different attention of the texts of a batch.

    Args:
        model: A classifier.
        batch: What it reads.
        positions: Where its predictions are.
        before: These predictions.
        search: How it is done.
    """

    def __init__(
        self,
        model: CapturedModel,
        batch: Batch,
        positions: LabelPositions,
        before: Outputs,
        search: AdversarySearch,
    ) -> None:
        self._model = model
        self._batch = batch
        self._positions = positions
        self._before = before
        self._search = search

    def run(self, parts: Sequence[SearchVariables]) -> Adversaries:
        """What is found where all of these may change at once."""
        sites, head = [part.site for part in parts], parts[0].head
        predictor = CapturedPredictor(
            self._model, self._batch, self._positions, sites, (None, head)
        )
        attention = (
            torch.cat([part.weight.flatten(1, 2) for part in parts], 1),
            torch.cat([part.keys.flatten(1, 2) for part in parts], 1),
            torch.cat([part.start.flatten(2, 3) for part in parts], 2),
        )
        before = _like_predictions(self._before, self._model.transformer.device)
        return search_attention(predictor, before, attention, self._search)


def _like_predictions(before: Outputs, device: torch.device) -> Tensor:
    """The predictions where the model is, in the best precision that there is."""
    with torch.inference_mode(mode=False):
        exact = before.clone()
        return exact.float().to(device) if device.type == "mps" else exact.to(device)
