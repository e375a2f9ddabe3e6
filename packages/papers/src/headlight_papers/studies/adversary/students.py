"""Students of a classifier, and their training."""

import copy
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LRScheduler

from headlight.capture import CapturedModel, Classes
from headlight.capture.loading import load_start, quiet
from headlight.capture.torch_settings import own_precision
from headlight.engine.labelled_texts import Classified
from headlight.errors import CaptureError, setting
from headlight_papers.studies.adversary.model_outputs import (
    AttentionSelection,
    ReadBatch,
    record_outputs,
)
from headlight_papers.studies.adversary.teacher_comparison import evaluate
from headlight_papers.training.learning_rates import rise_and_fall
from headlight_papers.training.losses import AdversarialObjective
from headlight_papers.training.model_outputs import Attention, Logits, Outputs
from headlight_papers.training.random_seeds import seeded
from headlight_papers.training.trainer import Trainer, TrainingBatch, TrainingTask

StudentKind = Literal["adversary", "seed"]
SCRATCH, BASE = "scratch", "base"
"""Random weights, and the teacher's own, in the place of a checkpoint."""
POOLED = 20
"""Batches whose texts are put in the order of their lengths."""


@dataclass(frozen=True)
class Job:
    """Student to train.

    Attributes:
        kind: Kind of training, against the teacher's attention or on gold labels.
        seed: Seed of its head, of dropout and of the order of texts; alike for both kinds.
        weight: Weight λ of an adversary.
    """

    kind: StudentKind
    seed: int
    weight: float = 0.0

    @property
    def name(self) -> str:
        """Return the name of its file and of its folder."""
        weight = f"-{self.weight!r}" if self.kind == "adversary" else ""
        return f"{self.kind}-{self.seed}{weight}"


@dataclass(frozen=True, eq=False)
class StudentTrainer(Trainer[Job, CapturedModel, ReadBatch]):
    """Trainer of students, which keeps the measurements of each.

    Attributes:
        teacher: Classifier that students are compared with, which is never changed.
        start: Initial weights of students; see `AdversarySettings`.
        classes: Classes of the teacher.
        selection: Selection of the attention that is compared.
        training: Training texts.
        held_out: Texts for all measurements.
        folder: Folder of the files of numbers, one for each student.
        models: Folder of the saved students; None if these are not saved.
    """

    teacher: CapturedModel
    start: str
    classes: Classes
    selection: AttentionSelection
    training: Sequence[Classified]
    held_out: Sequence[Classified]
    folder: Path
    models: Path | None = None
    longest_gradient = 1.0

    def is_done(self, job: Job) -> bool:
        """Whether the numbers of a student are there, and the student too if it is to be kept."""
        has_model = self.models is None or (self.models / job.name).is_dir()
        return has_model and super().is_done(job)

    def run(self, job: Job) -> None:
        """Train a student, measure it, and write its file."""
        device, settings = self.teacher.transformer.device, self.selection.settings
        task = self.task(job)
        with own_precision(device), seeded(task.seed, device):
            student = self.begin(job)
            losses = [
                self._finite(loss, job)
                for loss in self.epochs(
                    student, task, settings.epochs, lambda orders: self._batches(orders, job)
                )
            ]
            values = evaluate(student, self.teacher, self.held_out, self.selection, self.classes)
        # The model is saved before the numbers, whose file says that the job is done.
        if self.models is not None:
            self._save_model(student, job)
        self.save(job, values, {"loss": losses})

    def task(self, job: Job) -> TrainingTask:
        """Return the training task of a student."""
        settings = self.selection.settings
        objective = AdversarialObjective(settings.predictions, settings.distance)
        weight = job.weight if job.kind == "adversary" else None
        return TrainingTask((settings.seed, job.seed), objective, weight)

    def begin(self, job: Job) -> CapturedModel:
        """Return a student before training; its random weights come from torch's seed."""
        teacher = self.teacher.transformer
        if self.start == BASE:
            network = copy.deepcopy(teacher)
        elif self.start == SCRATCH:
            network = type(teacher)(copy.deepcopy(teacher.config)).to(teacher.device, teacher.dtype)
        else:
            network = load_start(self.start, self.teacher)
        # All of a student is trained, also what was frozen in the teacher or the checkpoint.
        network.eval().requires_grad_(True)
        name = f"a student of {self.teacher.name}"
        student = CapturedModel(network, self.teacher.tokenizer, name)
        student.sites  # noqa: B018 - found before training, and refused if they do not fit
        return student

    def network(self, model: CapturedModel) -> nn.Module:
        """Return the whole student, since all of it is trained."""
        network: nn.Module = model.transformer
        return network

    def optimizer(self, model: CapturedModel) -> tuple[AdamW, LRScheduler]:
        """Return AdamW, and a scheduler whose rate rises and falls."""
        # Its rate falls to 0 with the last batch, so that steps are counted beforehand.
        settings = self.selection.settings
        adam = AdamW(model.transformer.parameters(), lr=settings.learning_rate)
        steps = settings.epochs * -(-len(self.training) // settings.batch_size)
        return adam, rise_and_fall(adam, steps)

    def forward(
        self, model: CapturedModel, batch: ReadBatch, given: Attention | None
    ) -> tuple[Logits, Attention]:
        """Run a student; attention is never imposed."""
        outputs = record_outputs(model, self.selection, batch)
        return outputs.logits, outputs.attention

    def _batches(self, orders: np.random.Generator, job: Job) -> Iterator[TrainingBatch[ReadBatch]]:
        """Yield all texts at random, those of similar length together to have little padding."""
        size, order = self.selection.settings.batch_size, orders.permutation(len(self.training))
        groups = []
        for start in range(0, len(order), size * POOLED):
            pool = sorted(
                order[start : start + size * POOLED].tolist(),
                key=lambda at: len(self.training[at].ids),
            )
            groups += [pool[at : at + size] for at in range(0, len(pool), size)]
        # Texts are sorted within a pool, and so batches are drawn once more.
        for number in orders.permutation(len(groups)):
            batch = self.selection.read(self.teacher, [self.training[at] for at in groups[number]])
            yield TrainingBatch(batch, self._taught(batch) if job.kind == "adversary" else None)

    @torch.no_grad()
    def _taught(self, batch: ReadBatch) -> Outputs:
        outputs = record_outputs(self.teacher, self.selection, batch)
        return Outputs(outputs.logits.softmax(-1), outputs.attention)

    def _finite(self, loss: float, job: Job) -> float:
        if not np.isfinite(loss):
            raise CaptureError(
                f"the loss of {job.name} is not finite; train with a smaller learning rate "
                f"({setting('learning_rate=')}), or without so large a λ ({setting('lambdas=')})."
            )
        return loss

    def _save_model(self, student: CapturedModel, job: Job) -> None:
        """Save a student in a folder that appears whole."""
        assert self.models is not None  # noqa: S101
        place, partial = self.models / job.name, self.models / f"{job.name}.partial"
        for old in (place, partial):
            shutil.rmtree(old, ignore_errors=True)
        with quiet():
            student.transformer.save_pretrained(partial)
        tokenizer = student.require_tokenizer("a student is saved with it")
        tokenizer.save_pretrained(partial)
        partial.rename(place)
