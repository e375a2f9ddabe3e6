"""Small classifiers of texts that papers train: their jobs and their training."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from torch.optim import Adam

from headlight_papers.papers.attention_comparison import distances
from headlight_papers.papers.model_families import ModelFamily
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.teacher_training import Kind, TeacherJob, TeacherTrainer
from headlight_papers.papers.text_data import data_key, open_data
from headlight_papers.papers.text_tasks import named_sets
from headlight_papers.training.model_outputs import Attention, Outputs
from headlight_papers.training.text_classifier import TextBatch, TextClassifier, uniform_attention
from headlight_papers.training.text_encoders import ENCODERS, Encoder

Numbers = dict[str, float]

Guide = Literal["base", "adversary", "uniform"]
"""Source of the attention that a model is given."""
RATE = 1e-3
DECAY = 1e-5
"""Weight decay, of everything but attention."""
PATIENCE = 3
"""Epochs without improvement after which training stops."""


@dataclass(frozen=True)
class ClassifierJob(TeacherJob):
    """Classifier of texts; see `TeacherJob`.

    Attributes:
        encoder: See `headlight_papers.training.text_encoders.Encoder`.
        of: Encoder of the model that it is compared with or guided by; by default the same.
    """

    kind: Kind
    encoder: Encoder
    seed: int
    weight: float | None = None
    guide: Guide | None = None
    of: Encoder | None = None

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Return another seed for each kind and encoder."""
        return (*super().seed_of_model, list(ENCODERS).index(self.encoder))

    def _alike(self, **changes: Any) -> "ClassifierJob":
        return super()._alike(encoder=self.of or self.encoder, of=None, **changes)


class ClassifierTrainer(TeacherTrainer[ClassifierJob, TextClassifier, TextBatch]):
    """Trainer of classifiers of the same texts, as in released code: Adam without a schedule."""

    metric = "auc"

    def begin(self, job: ClassifierJob) -> TextClassifier:
        """Return a new classifier with the vectors of the data."""
        data = self.data
        return TextClassifier.from_sizes(
            job.encoder, len(data.vocabulary), len(data.classes), data.vectors
        )

    def optimizer(self, model: TextClassifier) -> tuple[Adam, None]:
        """Return Adam with weight decay of everything but attention."""
        # The released code decays no weights of attention.
        attention = [*model.before_attention.parameters(), *model.attention.parameters()]
        others = [model.embedding, model.encoder, model.output]
        groups: list[dict[str, Any]] = [
            {"params": [parameter for part in others for parameter in part.parameters()]},
            {"params": attention, "weight_decay": 0.0},
        ]
        adam = Adam(groups, lr=RATE, amsgrad=True, fused=True, weight_decay=DECAY)
        return adam, None

    def plain(self, batch: TextBatch, guide: str) -> Attention:
        """Return uniform attention, the only kind that comes from no model."""
        return uniform_attention(batch)

    def quality(self, batches: Sequence[TextBatch], outputs: Sequence[Outputs]) -> Numbers:
        """Compute F1 of the second class, accuracy, area under the ROC curve, and gold NLL.

        The area is NaN where all texts are of one class.
        """
        labels = torch.cat([batch.labels for batch in batches]).numpy()
        probability = torch.cat([output.probability for output in outputs]).double().numpy()
        chosen = probability.argmax(-1)
        # Of texts of a single class there is no curve, and no area.
        both = len(np.unique(labels)) == 2
        gold = probability[np.arange(len(labels)), labels]
        return {
            "f1": float(f1_score(labels, chosen, zero_division=0)),
            "accuracy": float(accuracy_score(labels, chosen)),
            "auc": float(roc_auc_score(labels, probability[:, 1])) if both else np.nan,
            # A probability that is rounded to 0 would make the mean infinite.
            "nll": float(-np.log(np.maximum(gold, 1e-300)).mean()),
        }

    def difference(
        self, batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """Return the means of `distances` over texts."""
        by_text = distances(batches, outputs, teacher)
        return {name: float(values.mean()) for name, values in by_text.items()}


MODELS = "classifiers"
"""Folder of trained models, among the results."""


def sets_of(reproduction: Reproduction) -> dict[str, str]:
    """Return the sources of labelled texts by their titles."""
    return named_sets(reproduction.sources.labelled)


def classifiers_of(reproduction: Reproduction, title: str) -> ModelFamily[ClassifierTrainer]:
    """Return the classifiers of a set of labelled texts."""
    source = sets_of(reproduction)[title]
    return ModelFamily(
        reproduction,
        ClassifierTrainer,
        f"{MODELS}/{file_name(title)}",
        partial(open_data, source=source),
        data_key(reproduction, source),
        PATIENCE,
    )


def file_name(title: str) -> str:
    """Return the name of the file for a set."""
    return re.sub(r"\W+", "_", title.lower())
