"""Students: models that are trained against the attention of a teacher, or on gold labels."""

import copy
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.classifier_plan import Classified
from headlight.capture import CapturedModel, Classes
from headlight.capture.loading import load_start, quiet
from headlight.capture.precision import own_precision
from headlight.errors import CaptureError
from headlight.studies.adversary.outcome import judge
from headlight.studies.adversary.sight import ReadBatch, Seen, Sight, watching
from headlight.training import KeptModels
from headlight.training.adversarial import (
    AdversarialObjective,
    Taught,
    adversarial_loss,
    cross_entropy,
)
from headlight.training.schedule import rate

Kind = Literal["adversary", "seed"]
SCRATCH, BASE = "scratch", "base"
"""Random weights, and the teacher's own, in the place of a checkpoint."""
LONGEST_GRADIENT = 1.0
POOLED = 20
"""Batches whose texts are put in the order of their lengths."""


@dataclass(frozen=True)
class Job:
    """One student.

    Attributes:
        kind: trained against the teacher's attention, or on gold labels.
        seed: of its head, of dropout and of the order of texts; alike for both kinds.
        weight: λ of an adversary.
    """

    kind: Kind
    seed: int
    weight: float = 0.0

    @property
    def name(self) -> str:
        """Of its file and of its folder."""
        return f"{self.kind}-{self.seed}" + (f"-{self.weight!r}" * (self.kind == "adversary"))


@dataclass(frozen=True, eq=False)
class StudentTrainer(KeptModels[Job]):
    """Trains students, and keeps what was measured of each.

    Attributes:
        teacher: the classifier that they are beside, which is never changed.
        start: where they begin; see `AdversarySettings`.
        classes: what it tells apart.
        sight: which attention is compared.
        training: texts to learn from.
        held_out: texts on which everything is measured.
        folder: of the files of numbers, one for each student.
        models: where the students themselves are saved; None for nowhere.
    """

    teacher: CapturedModel
    start: str
    classes: Classes
    sight: Sight
    training: Sequence[Classified]
    held_out: Sequence[Classified]
    folder: Path
    models: Path | None = None

    def is_done(self, job: Job) -> bool:
        """Whether its numbers are there, and it itself where it is to be kept."""
        kept = self.models is None or (self.models / job.name).is_dir()
        return kept and super().is_done(job)

    def run(self, job: Job) -> None:
        """Train a student, measure it, and write its file."""
        device = self.teacher.transformer.device
        seed = np.random.SeedSequence((self.sight.settings.seed, job.seed)).generate_state(1)
        devices = [device] if device.type == "cuda" else []
        with own_precision(device), torch.random.fork_rng(devices=devices):
            torch.manual_seed(int(seed[0]))
            student = self.begin()
            losses = self._learn(student, job)
            found = judge(student, self.teacher, self.held_out, self.sight, self.classes)
        if self.models is not None:
            self._save_model(student, job)
        self.save(job, found, {"loss": losses})

    def begin(self) -> CapturedModel:
        """A student as it is before training; its random weights are those of torch's seed."""
        teacher = self.teacher.transformer
        if self.start == BASE:
            network = copy.deepcopy(teacher)
        elif self.start == SCRATCH:
            network = type(teacher)(copy.deepcopy(teacher.config)).to(teacher.device, teacher.dtype)
        else:
            network = load_start(self.start, self.teacher)
        network.eval().requires_grad_(True)
        return CapturedModel(network, self.teacher.tokenizer, f"a student of {self.teacher.name}")

    def _learn(self, student: CapturedModel, job: Job) -> list[float]:
        """Train in place; the mean loss of each epoch."""
        settings, network = self.sight.settings, student.transformer
        optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate)
        count = -(-len(self.training) // settings.batch_size)
        orders = np.random.default_rng((settings.seed, job.seed))
        losses, steps = [], settings.epochs * count
        with watching(student, self.sight) as see, watching(self.teacher, self.sight) as taught:
            for epoch in range(settings.epochs):
                network.train()
                total = 0.0
                for place, batch in enumerate(self._batches(orders)):
                    share = rate(epoch * count + place, steps)
                    optimiser.param_groups[0]["lr"] = settings.learning_rate * share
                    loss = self._loss(see, taught, batch, job)
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    torch.nn.utils.clip_grad_norm_(network.parameters(), LONGEST_GRADIENT)
                    optimiser.step()
                    total += float(loss.detach()) * len(batch.streams)
                losses.append(self._finite(total / len(self.training), job))
        network.eval()
        return losses

    def _batches(self, orders: np.random.Generator) -> Iterator[ReadBatch]:
        """All texts at random, but those of similar length together, so that little is padding."""
        size, order = self.sight.settings.batch_size, orders.permutation(len(self.training))
        found = []
        for start in range(0, len(order), size * POOLED):
            pool = sorted(
                order[start : start + size * POOLED].tolist(),
                key=lambda at: len(self.training[at].ids),
            )
            found += [pool[at : at + size] for at in range(0, len(pool), size)]
        for number in orders.permutation(len(found)):
            yield self.sight.read(self.teacher, [self.training[at] for at in found[number]])

    def _loss(
        self,
        see: Callable[[ReadBatch], Seen],
        taught: Callable[[ReadBatch], Seen],
        batch: ReadBatch,
        job: Job,
    ) -> Float[Tensor, ""]:
        own = see(batch)
        if job.kind == "seed":
            gold = torch.tensor(batch.readout.labels, device=own.logits.device)
            return cross_entropy(own.logits, gold).mean()
        with torch.no_grad():
            other = taught(batch)
        goal = AdversarialObjective(self.sight.settings.predictions, self.sight.settings.distance)
        return adversarial_loss(
            (own.logits, own.attention),
            Taught(other.logits.softmax(-1), other.attention),
            batch.counted,
            job.weight,
            goal,
        )

    def _finite(self, loss: float, job: Job) -> float:
        if not np.isfinite(loss):
            raise CaptureError(
                f"the loss of {job.name} is not finite; train with a smaller learning rate "
                "(--learning-rate), or without so large a λ (--lambdas)."
            )
        return loss

    def _save_model(self, student: CapturedModel, job: Job) -> None:
        """In a folder that appears whole."""
        assert self.models is not None  # noqa: S101
        place, partial = self.models / job.name, self.models / f"{job.name}.partial"
        for old in (place, partial):
            shutil.rmtree(old, ignore_errors=True)
        with quiet():
            student.transformer.save_pretrained(partial)
        tokenizer = student.require_tokenizer("a student is saved with it")
        tokenizer.save_pretrained(partial)
        partial.rename(place)
