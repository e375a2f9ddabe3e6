"""The models that the paper trains, what guides them, and what they are worth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.optim import Adam
from torch.optim.lr_scheduler import LRScheduler

from headlight_papers.papers.yang2020.tagger import HEADS, Tagger
from headlight_papers.papers.yang2020.tagging_data import TagBatch, TaggingData
from headlight_papers.spans import SpanScore, span_score
from headlight_papers.training.outputs import Attention, Outputs, compare, cross_entropy
from headlight_papers.training.teacher import Kind, TeacherJob, TeacherTrainer
from headlight_papers.training.trainer import TrainingTask, rise_and_fall

Numbers = dict[str, float | list[float]]
"""By name; a list has one for each head."""


def quality(data: TaggingData, batches: Sequence[TagBatch], outputs: Sequence[Outputs]) -> Numbers:
    """F1 of spans by both readings, the share of right tags, and NLL of the gold tags per word."""
    strict, lenient = SpanScore(), SpanScore()
    right, surprise, words = 0, 0.0, 0
    for batch, output in zip(batches, outputs, strict=True):
        tags = output.probability.argmax(-1)
        gold, found = data.tag_names(batch, batch.tags), data.tag_names(batch, tags)
        strict += span_score(gold, found)
        lenient += span_score(gold, found, "lenient")
        right += int((tags == batch.tags)[batch.real].sum())
        lost = cross_entropy(output.probability.double().clamp_min(1e-300).log(), batch.tags)
        surprise += float(lost[batch.real].sum())
        words += int(batch.real.sum())
    return {
        "f1": strict.f1,
        "f1_lenient": lenient.f1,
        "accuracy": right / words,
        "nll": surprise / words,
    }


def difference(
    batches: Sequence[TagBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> Numbers:
    """Compute the distance of predictions and attention from a teacher's, as means over words.

    `kl_cell` is KL as the paper has it, a mean over all entries of the attention: that of a row is
    divided by how many it has.
    """
    sums: dict[str, Float64[Tensor, "..."]] = {}
    words, cells = 0, 0
    for batch, one, other in zip(batches, outputs, teacher, strict=True):
        real = batch.real
        for name, values in _compared(batch, one, other).items():
            kept = real if values.ndim == 2 else real[:, None]
            total = torch.where(kept, values.double(), 0).sum((0, -1))
            sums[name] = sums.get(name, 0) + total
        words += int(real.sum())
        cells += int((real.sum(-1) ** 2).sum())
    found: Numbers = {name: (total / words).tolist() for name, total in sums.items()}
    found["kl_cell"] = float(sums["kl"].mean() / cells)
    return found


def _compared(batch: TagBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    """By word, or by head and word."""
    log = one.probability.double().clamp_min(1e-300).log().log_softmax(-1)
    return compare(one, other, batch.valid, log)


Plain = Literal["uniform", "identity"]
Guide = Literal["base", "adversary", "uniform", "identity"]
"""Where the attention comes from that a model is given."""


def plain_attention(batch: TagBatch, guide: Plain) -> Attention:
    """Return the same weights in all heads; padding gets none."""
    length = batch.words.shape[1]
    if guide == "identity":
        weight = torch.eye(length).expand(len(batch.words), -1, -1)
    else:
        weight = (batch.real / batch.real.sum(-1, keepdim=True))[:, None].expand(-1, length, -1)
    return weight[:, None].expand(-1, HEADS, -1, -1)


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
        """See `plain_attention`."""
        return plain_attention(batch, "identity" if guide == "identity" else "uniform")

    def quality(self, batches: Sequence[TagBatch], outputs: Sequence[Outputs]) -> Numbers:
        """See `quality`."""
        return quality(self.data, batches, outputs)

    def difference(
        self, batches: Sequence[TagBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """The means over words."""
        return difference(batches, outputs, teacher)
