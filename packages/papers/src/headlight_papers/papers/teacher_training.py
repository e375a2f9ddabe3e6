"""Training of models, and of others that learn from them as from a teacher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from headlight.vocabulary import PARTS, Part
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.losses import AdversarialObjective
from headlight_papers.training.model_outputs import Attention, AttentionModel, Outputs, outputs_of
from headlight_papers.training.random_seeds import seeded
from headlight_papers.training.trainer import Batch, Numbers, Trainer, TrainingBatch, TrainingTask

Kind = Literal["base", "adversary", "guided"]
KINDS: tuple[Kind, ...] = ("base", "adversary", "guided")
"""Models of one seed begin differently if they are of different kinds."""

# Not Self, which the checker of types at run time knows in classes that it decorates as a whole.
Job = TypeVar("Job", bound="TeacherJob")


class TeacherJob:
    """Model that is trained on labels, against a base, or on labels with attention given.

    A job is a dataclass with these fields, and with others that tell models apart.

    Attributes:
        kind: Kind of training, one of the three.
        seed: Seed of the model, and of the base that it belongs to.
        weight: Weight λ of an adversary, or of the adversary that guides.
        guide: Source of the attention of a guided model: the ``base``, the ``adversary`` of this
            weight, or the name of attention that comes from no model.
    """

    kind: Kind
    seed: int
    weight: float | None
    guide: str | None

    @property
    def name(self) -> str:
        """Return the name of its file."""
        fields = vars(self).values()
        return "-".join(str(field) for field in fields if field is not None)

    @property
    def seed_of_model(self) -> tuple[int, ...]:
        """Return the seed of weights, dropout and the order of batches; another for each kind."""
        return (self.seed, KINDS.index(self.kind))

    @property
    def base(self: Job) -> Job:
        """Return the model that it is compared with, and taught by if it is an adversary."""
        return self._alike(kind="base", weight=None, guide=None)

    @property
    def source(self: Job) -> Job | str:
        """Return the model that guides, or the name of attention that comes from no model."""
        if self.guide == "adversary":
            return self._alike(kind="adversary", guide=None)
        return self.base if self.guide in (None, "base") else str(self.guide)

    def _alike(self: Job, **changes: Any) -> Job:
        job: Job = replace(self, **changes)  # type: ignore[type-var]
        return job


Model = TypeVar("Model", bound=AttentionModel[Any])


@dataclass(frozen=True)
class TrainingConfig:
    """That all models have in common.

    Attributes:
        epochs: Largest number of passes over the training part.
        objective: Objective of adversaries.
        selection: Part on which the best epoch is chosen, see `TeacherTrainer.score`.
        patience: Epochs without improvement after which training stops; None for never.
    """

    epochs: int
    objective: AdversarialObjective
    selection: Part = "dev"
    patience: int | None = None


@dataclass(frozen=True, eq=False)
class TeacherTrainer(Trainer[Job, Model, Batch], Generic[Job, Model, Batch]):
    """Trainer of models on the same data, in three parts, which keeps each in a file of its own.

    Attributes:
        data: Training data, with the batches of its ``parts``.
        config: Settings of training.
        folder: Folder of the files.
    """

    data: Any
    config: TrainingConfig
    folder: Path
    metric = "f1"
    """Metric by which the epoch of a model that is trained on labels is chosen."""

    def plain(self, batch: Batch, guide: str) -> Attention:
        """Return attention that comes from no model, by its name."""
        raise NotImplementedError

    def quality(self, batches: Sequence[Batch], outputs: Sequence[Outputs]) -> Numbers:
        """Compute the quality of predictions."""
        raise NotImplementedError

    def difference(
        self, batches: Sequence[Batch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
    ) -> Numbers:
        """Compute the distance of predictions and attention from a teacher's, see `compare`."""
        raise NotImplementedError

    def model(self, job: Job) -> Model:
        """Return a finished model."""
        with torch.random.fork_rng(devices=()):  # its random weights are overwritten below
            model = self.begin(job)
        model.load_state_dict(self.parameters(job))
        return model.eval()

    def outputs(self, job: Job, parts: Sequence[Part] = PARTS) -> dict[Part, list[Outputs]]:
        """Return the outputs of a finished model, with the attention that it was trained with."""
        imposed, model = self.given(job, parts), self.model(job)
        return {part: outputs_of(model, self.data.parts[part], imposed.get(part)) for part in parts}

    def given(self, job: Job, parts: Sequence[Part] = PARTS) -> dict[Part, list[Tensor]]:
        """Return the attention imposed on a guided model; nothing for others."""
        if job.kind != "guided":
            return {}
        if isinstance(job.source, str):
            return {
                part: [self.plain(batch, job.source) for batch in self.data.parts[part]]
                for part in parts
            }
        outputs = self.outputs(job.source, parts)
        return {part: [output.attention for output in outputs[part]] for part in parts}

    def task(self, job: Job) -> TrainingTask:
        """Return the training task of a model."""
        weight = job.weight if job.kind == "adversary" else None
        return TrainingTask(job.seed_of_model, self.config.objective, weight)

    def run(self, job: Job) -> None:
        """Train a model, evaluate it, and write its file; its teacher must be there."""
        # A teacher's outputs are computed once, since it is never trained on.
        teacher = {} if job.kind == "base" else self.outputs(job.base)
        imposed, task = self.given(job), self.task(job)
        training = self.data.parts["train"]
        nothing: list[Any] = [None] * len(training)
        batches = [
            TrainingBatch(*parts)
            for parts in zip(
                training, teacher.get("train", nothing), imposed.get("train", nothing), strict=True
            )
        ]

        def shuffled(orders: np.random.Generator) -> list[TrainingBatch[Batch]]:
            return [batches[number] for number in orders.permutation(len(batches))]

        with seeded(task.seed):
            model = self.begin(job)
            measure = partial(self.evaluate, model, teacher=teacher, given=imposed)
            curve = self.choose_epoch(
                model,
                self.epochs(model, task, self.config.epochs, shuffled),
                partial(measure, self.config.selection),
                lambda numbers: self.score(numbers, task),
                self.config.patience,
            )
        measured: Numbers = {"curve": curve, "dev": measure("dev"), "test": measure("test")}
        self.save(job, model.state_dict(), measured)

    def score(self, numbers: Numbers, task: TrainingTask) -> float:
        """Return the criterion of an epoch: `metric`, or the negative of an adversary's loss."""
        if task.weight is None:
            return float(np.mean(numbers[self.metric]))
        # An adversary is judged by its own loss: near in predictions and far in attention.
        near = numbers["tvd" if task.objective.prediction == "tvd" else "taught_nll"]
        far = numbers[task.objective.distance]  # a number, or one of each head
        return float(task.weight * float(np.mean(far)) - float(np.mean(near)))

    def evaluate(
        self,
        model: Model,
        part: Part,
        teacher: dict[Part, list[Outputs]],
        given: dict[Part, list[Tensor]],
    ) -> Numbers:
        """Return all numbers of a model on one part."""
        batches = self.data.parts[part]
        outputs = outputs_of(model, batches, given.get(part))
        numbers = self.quality(batches, outputs)
        return numbers | self.difference(batches, outputs, teacher[part]) if teacher else numbers


def lambdas_of(reproduction: Reproduction) -> list[float]:
    """Return all λ in order, each once, and 0 among them."""
    # λ = 0 is the control: what training again brings without any push.
    return sorted({0.0, *reproduction.settings.lambdas})


def sweep_jobs(reproduction: Reproduction, job: Callable[..., Job]) -> list[list[Job]]:
    """Return the bases of all seeds and then, taught by them, the adversaries of every λ."""
    seeds = range(reproduction.settings.repeats)
    bases = [job(kind="base", seed=seed) for seed in seeds]
    weights = lambdas_of(reproduction)
    return [
        bases,
        [job(kind="adversary", seed=seed, weight=weight) for seed in seeds for weight in weights],
    ]
