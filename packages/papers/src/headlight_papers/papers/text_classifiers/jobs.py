"""The models that papers train on one set of texts, and what each is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from torch import Tensor
from torch.optim import Adam

from headlight_papers.training.outputs import Attention, Outputs, compare
from headlight_papers.training.teacher import Kind, TeacherJob, TeacherTrainer
from headlight_papers.training.text_classifier import (
    ENCODERS,
    Encoder,
    TextBatch,
    TextClassifier,
    uniform_attention,
)

Numbers = dict[str, float]


def quality(batches: Sequence[TextBatch], outputs: Sequence[Outputs]) -> Numbers:
    """F1 of the second class, accuracy, area under the ROC curve, and NLL of gold labels.

    The area is NaN where all texts are of one class.
    """
    labels = torch.cat([batch.labels for batch in batches]).numpy()
    probability = torch.cat([output.probability for output in outputs]).double().numpy()
    chosen = probability.argmax(-1)
    both = len(np.unique(labels)) == 2
    gold = probability[np.arange(len(labels)), labels]
    return {
        "f1": float(f1_score(labels, chosen, zero_division=0)),
        "accuracy": float(accuracy_score(labels, chosen)),
        "auc": float(roc_auc_score(labels, probability[:, 1])) if both else np.nan,
        "nll": float(-np.log(np.maximum(gold, 1e-300)).mean()),
    }


def distances(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> dict[str, Float64[Tensor, " text"]]:
    """Compute each text's distance in prediction and attention from a teacher; see `compare`."""
    parts = [
        _distances(batch, one, other)
        for batch, one, other in zip(batches, outputs, teacher, strict=True)
    ]
    return {name: torch.cat([part[name].double() for part in parts]) for name in parts[0]}


def difference(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> Numbers:
    """The means of `distances` over texts."""
    found = distances(batches, outputs, teacher)
    return {name: float(values.mean()) for name, values in found.items()}


def _distances(batch: TextBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    mine, theirs = (Outputs(each.probability, each.attention.double()) for each in (one, other))
    log = one.probability.double().clamp_min(1e-300).log()
    found = compare(mine, theirs, batch.valid, log)
    return {name: values.reshape(len(batch)) for name, values in found.items()}


Guide = Literal["base", "adversary", "uniform"]
"""Where the attention comes from that a model is given."""
RATE = 1e-3
DECAY = 1e-5
"""Weight decay, of everything but attention."""
PATIENCE = 3
"""Epochs without improvement after which training stops."""


@dataclass(frozen=True)
class ClassifierJob(TeacherJob):
    """One classifier; see `TeacherJob`.

    Attributes:
        encoder: see `headlight_papers.training.text_classifier.Encoder`.
        of: the encoder of the model that it is compared with or guided by; by default the same.
    """

    kind: Kind
    encoder: Encoder
    seed: int
    weight: float | None = None
    guide: Guide | None = None
    of: Encoder | None = None

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Another for each kind and encoder."""
        return (*super().seed_of_model, list(ENCODERS).index(self.encoder))

    def _alike(self, **changes: Any) -> "ClassifierJob":
        return super()._alike(encoder=self.of or self.encoder, of=None, **changes)


class ClassifierTrainer(TeacherTrainer[ClassifierJob, TextClassifier, TextBatch]):
    """Trains classifiers on the same texts, as the released codes do: Adam without a schedule."""

    metric = "auc"

    def begin(self, job: ClassifierJob) -> TextClassifier:
        """A new classifier with the vectors of the data."""
        data = self.data
        return TextClassifier.of(job.encoder, len(data.vocabulary), len(data.classes), data.vectors)

    def optimizer(self, model: TextClassifier) -> tuple[Adam, None]:
        """With weight decay of everything but attention."""
        attention = [*model.before_attention.parameters(), *model.attention.parameters()]
        others = [model.embedding, model.encoder, model.output]
        groups: list[dict[str, Any]] = [
            {"params": [each for part in others for each in part.parameters()]},
            {"params": attention, "weight_decay": 0.0},
        ]
        adam = Adam(groups, lr=RATE, amsgrad=True, fused=True, weight_decay=DECAY)
        return adam, None

    def plain(self, batch: TextBatch, guide: str) -> Attention:
        """Uniform, of which there is no other."""
        return uniform_attention(batch)

    def quality(self, batches: Sequence[TextBatch], outputs: Sequence[Outputs]) -> Numbers:
        """See `quality`."""
        return quality(batches, outputs)

    def difference(
        self,
        batches: Sequence[TextBatch],
        outputs: Sequence[Outputs],
        teacher: Sequence[Outputs],
    ) -> Numbers:
        """The means over texts."""
        return difference(batches, outputs, teacher)
