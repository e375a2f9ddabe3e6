"""The models that the paper trains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight.papers.yang2020.evaluation import Numbers, difference, quality
from headlight.papers.yang2020.guides import Guide, plain_attention
from headlight.papers.yang2020.tagger import Tagger
from headlight.papers.yang2020.tagging_data import TagBatch
from headlight.training.outputs import Attention, Outputs
from headlight.training.schedule import rise_and_fall
from headlight.training.teacher import Kind, TeacherJob, TeacherTrainer
from headlight.training.trainer import TrainingTask

PEAK = 4e-3
"""The learning rate at its highest."""
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Job(TeacherJob):
    """One tagger; see `TeacherJob`."""

    kind: Kind
    seed: int
    weight: float | None = None
    guide: Guide | None = None


class TaggerTrainer(TeacherTrainer[Job, Tagger, TagBatch]):
    """Trains taggers on the same sentences."""

    def begin(self, job: Job) -> Tagger:
        """A new tagger for the tags of the data."""
        return Tagger.of(self.data)

    def optimizer(self, model: Tagger) -> tuple[Adam, LRScheduler]:
        """Adam with a rate that rises and falls."""
        steps = self.config.epochs * len(self.data.parts["train"])
        adam = Adam(model.parameters(), lr=PEAK, betas=BETAS, fused=True)
        return adam, rise_and_fall(adam, steps)

    def score(self, found: Numbers, task: TrainingTask) -> float:
        """As the released code has it, the test part selects by F1 whatever a model is."""
        selected = replace(task, weight=None) if self.config.selection == "test" else task
        return super().score(found, selected)

    def plain(self, batch: TagBatch, guide: str) -> Attention:
        """See `headlight.papers.yang2020.guides`."""
        return plain_attention(batch, "identity" if guide == "identity" else "uniform")

    def quality(self, batches: Sequence[TagBatch], outputs: Sequence[Outputs]) -> Numbers:
        """See `headlight.papers.yang2020.evaluation.quality`."""
        return quality(self.data, batches, outputs)

    def difference(
        self, batches: Sequence[TagBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """The means over words."""
        return difference(batches, outputs, teacher)
