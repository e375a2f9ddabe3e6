"""The models that papers train on one set of texts, each kept when it is finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch.optim import Adam

from headlight.papers.text_classifiers.evaluation import Numbers, difference, quality
from headlight.training.outputs import Attention, Outputs
from headlight.training.teacher import Kind, TeacherJob, TeacherTrainer
from headlight.training.text_classifier import (
    ENCODERS,
    Encoder,
    TextBatch,
    TextClassifier,
    uniform_attention,
)

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
        encoder: see `headlight.training.text_classifier.Encoder`.
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
        """See `headlight.papers.text_classifiers.evaluation.quality`."""
        return quality(batches, outputs)

    def difference(
        self,
        batches: Sequence[TextBatch],
        outputs: Sequence[Outputs],
        teacher: Sequence[Outputs],
    ) -> Numbers:
        """The means over texts."""
        return difference(batches, outputs, teacher)
