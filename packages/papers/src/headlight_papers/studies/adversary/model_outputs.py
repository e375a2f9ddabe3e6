"""Predictions and attention of a model for the texts of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord
from headlight.capture.attention_graph import attention_with_graph
from headlight.encode.batch import Batch
from headlight.engine.labelled_texts import Classified
from headlight.errors import UsageError
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.positions import Texts
from headlight.observations.text_ids import units_of
from headlight.tensors import Visible
from headlight.vocabulary import Kind
from headlight_papers.studies.adversary import AdversarySettings
from headlight_papers.training.model_outputs import Attention, ValidMask


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """Texts as input of models.

    Attributes:
        batch: Tokens of the texts.
        positions: Positions of the predictions.
        valid: Mask of the predictions, rows and keys that count.
        units: Number of the document, or text, of each row.
    """

    batch: Batch
    positions: LabelPositions
    valid: ValidMask
    units: tuple[int, ...]

    @property
    def labels(self) -> Int64[Tensor, " prediction"]:
        """Return the gold class of each prediction."""
        return torch.tensor(self.positions.labels, device=self.valid.predictions.device)

    def __len__(self) -> int:
        return len(self.units)


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """Outputs of a model for a batch.

    Attributes:
        logits: Logits of each prediction.
        attention: Attention of the places, as distributions over the keys that count.
        visible: Keys that each query may attend to, by layer; None for all.
    """

    logits: Float[Tensor, "prediction label"]
    attention: Attention
    visible: Mapping[int, Visible | None]


@dataclass(frozen=True)
class AttentionSelection:
    """Selection of attention to compare.

    Attributes:
        kind: Attention kind: of the encoder, of the decoder, or from one to the other.
        places: Layers and heads.
        settings: Settings that select rows and keys.
    """

    kind: Kind
    places: tuple[tuple[int, int], ...]
    settings: AdversarySettings

    @classmethod
    def from_settings(
        cls, sites: Sequence[AttentionSite], settings: AdversarySettings
    ) -> "AttentionSelection":
        """Select all heads of these sites, or the requested ones.

        Raises:
            UsageError: A requested head is in no layer.
        """
        available = [(site.layer, head) for site in sites for head in range(site.heads)]
        wanted = range(max(site.heads for site in sites))
        for head in settings.heads or ():
            if head not in wanted:
                raise UsageError(f"there is no head {head}: heads are 0 to {wanted[-1]}.")
        places = tuple(at for at in available if settings.heads is None or at[1] in settings.heads)
        return cls(sites[0].kind, places, settings)

    def heads(self, layer: int) -> list[int]:
        """Return the selected heads of a layer."""
        return [head for at, head in self.places if at == layer]

    @property
    def layers(self) -> list[int]:
        """Return the layers with a selected place."""
        return sorted({layer for layer, _ in self.places})

    def read(self, model: CapturedModel, examples: Sequence[Classified]) -> ReadBatch:
        """Return examples as one batch, on the device of the model."""
        device = model.transformer.device
        batch = model.collate(examples)
        texts = Texts.of(batch, examples, self.kind)
        positions = LabelPositions(examples, device)
        keys = texts.keys >= 0
        if self.settings.keep_special:
            keys = keys & (batch.word >= 0)
        predictions = torch.ones(len(positions.labels), dtype=torch.bool, device=device)
        valid = ValidMask(predictions, texts.rows(self.settings.rows), keys)
        return ReadBatch(batch, positions, valid, tuple(units_of(examples).tolist()))

    def attention(
        self, records: Mapping[AttentionSite, LayerRecord], keys: Bool[Tensor, "batch key"]
    ) -> Attention:
        """Return the weights of all places, head beside head."""
        by_layer = {site.layer: record.weight for site, record in records.items()}
        weight = torch.cat([by_layer[layer][:, self.heads(layer)] for layer in self.layers], 1)
        if not self.settings.keep_special:
            return weight
        masked = torch.where(keys[:, None, None], weight, 0)
        return masked / masked.sum(-1, keepdim=True).clamp_min(torch.finfo(masked.dtype).tiny)


def record_outputs(
    model: CapturedModel, selection: AttentionSelection, read: ReadBatch
) -> ModelOutputs:
    """Run a model with its attention and its graph, in whatever mode it is in."""
    with attention_with_graph(model, model.sites_of(selection.kind, selection.layers)) as records:
        logits = model.transformer(**model.inputs(read.batch)).logits
        attention = selection.attention(records, read.valid.keys)
        visible = {site.layer: record.visible for site, record in records.items()}
        return ModelOutputs(read.positions.predictions(logits), attention, visible)
