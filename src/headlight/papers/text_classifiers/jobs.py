"""The models that papers train on one set of texts, each kept when it is finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch.optim import Adam

from headlight.papers.text_classifiers.evaluation import Numbers, difference, quality
from headlight.training.outputs import Attention, Outputs
from headlight.training.teacher import KINDS, Kind, TeacherTrainer
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
class ClassifierJob:
    """One model that is trained.

    Attributes:
        kind: on gold labels, against a base, or on gold labels with attention given.
        encoder: see `headlight.training.text_classifier.Encoder`.
        seed: of the model, and of the base that it belongs to.
        weight: λ of an adversary, or of that which guides.
        guide: where the attention of a guided model comes from.
        of: the encoder of the model that guides; by default the same.
    """

    kind: Kind
    encoder: Encoder
    seed: int
    weight: float | None = None
    guide: Guide | None = None
    of: Encoder | None = None

    @property
    def name(self) -> str:
        """Of its file."""
        parts = (self.kind, self.encoder, self.seed, self.weight, self.guide, self.of)
        return "-".join(str(part) for part in parts if part is not None)

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Another for each kind and encoder."""
        return (self.seed, KINDS.index(self.kind), list(ENCODERS).index(self.encoder))

    @property
    def base(self) -> "ClassifierJob":
        """The model that it is compared with, and taught by if it is an adversary."""
        return ClassifierJob("base", self.of or self.encoder, self.seed)

    @property
    def source(self) -> "ClassifierJob | str":
        """The model whose attention a guided one is given, or ``uniform``."""
        if self.guide == "adversary":
            return ClassifierJob("adversary", self.of or self.encoder, self.seed, self.weight)
        return "uniform" if self.guide == "uniform" else self.base


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
