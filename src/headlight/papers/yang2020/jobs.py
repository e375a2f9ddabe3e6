"""The models that the paper trains."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headlight.papers.yang2020.evaluation import (
    Numbers,
    Outputs,
    difference,
    mean,
    outputs_of,
    quality,
)
from headlight.papers.yang2020.guides import Guide, guiding_attention
from headlight.papers.yang2020.tagger import Tagger
from headlight.papers.yang2020.tagging_data import PARTS, Part, TaggingData
from headlight.papers.yang2020.training import (
    TrainingBatch,
    TrainingTask,
    train,
)
from headlight.training import KeptModels
from headlight.training.adversarial import AdversarialObjective

Kind = Literal["base", "adversary", "guided"]
STREAMS: tuple[Kind, ...] = ("base", "adversary", "guided")
"""Models of one seed begin differently if they are of different kinds, and alike if not."""


@dataclass(frozen=True)
class Job:
    """One model that is trained.

    Attributes:
        kind: on gold tags, against a base, or on gold tags with attention given.
        seed: of the model, and of the base that it belongs to.
        weight: λ of an adversary, or of that which guides.
        guide: where the attention of a guided model comes from.
    """

    kind: Kind
    seed: int
    weight: float | None = None
    guide: Guide | None = None

    @property
    def name(self) -> str:
        """Of its file."""
        parts = (self.kind, self.seed, self.weight, self.guide)
        return "-".join(str(part) for part in parts if part is not None)

    def task(self, goal: AdversarialObjective) -> TrainingTask:
        """What it is trained for."""
        weight = self.weight if self.kind == "adversary" else None
        return TrainingTask(
            (self.seed, STREAMS.index(self.kind)), weight, goal, self.kind == "guided"
        )


@dataclass(frozen=True)
class TrainingConfig:
    """What all models have in common.

    Attributes:
        epochs: passes over the training part.
        goal: of adversaries.
        selection: the part on which the best epoch is chosen: by its F1, and of an adversary on
            the development part by its loss.
    """

    epochs: int
    goal: AdversarialObjective
    selection: Part = "dev"


@dataclass(frozen=True, eq=False)
class TaggerTrainer(KeptModels[Job]):
    """Trains models on the same data, and keeps each in a file of its own.

    Attributes:
        data: what is learnt.
        config: how.
        folder: of the files.
    """

    data: TaggingData
    config: TrainingConfig
    folder: Path

    def model(self, job: Job) -> Tagger:
        """A finished model."""
        with torch.random.fork_rng(devices=()):  # what it begins with is of no interest
            model = Tagger.of(self.data)
        model.load_state_dict(self.parameters(job))
        return model

    def outputs(self, job: Job, parts: Sequence[Part] = PARTS) -> dict[Part, list[Outputs]]:
        """What a finished model does."""
        model = self.model(job)
        return {part: outputs_of(model, self.data.parts[part]) for part in parts}

    def run(self, job: Job) -> None:
        """Train a model, evaluate it, and write its file; what it is taught by must be there."""
        base = None if job.kind == "base" else self.outputs(Job("base", job.seed))
        given = None if job.guide is None else self._given(job)
        task = job.task(self.config.goal)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(int(np.random.SeedSequence(task.seed).generate_state(1)[0]))
            model = Tagger.of(self.data)
            training_batches = self._training_batches(task, base, given)
            curve, best = self._learn(model, training_batches, task, base, given)
        model.load_state_dict(best)
        header: dict[str, Any] = {"curve": curve}
        for part in ("dev", "test"):
            header[part] = self._evaluate(model, part, base, given)
        self.save(job, model.state_dict(), header)

    def _given(self, job: Job) -> dict[Part, list[Tensor]]:
        """The attention that a guided model gets."""
        assert job.guide is not None  # noqa: S101
        if job.guide == "uniform" or job.guide == "identity":
            return guiding_attention(self.data, job.guide)
        source = Job("base", job.seed)
        if job.weight is not None:
            source = Job("adversary", job.seed, job.weight)
        return {
            part: [output.attention for output in outputs]
            for part, outputs in self.outputs(source).items()
        }

    def _training_batches(
        self,
        task: TrainingTask,
        base: dict[Part, list[Outputs]] | None,
        given: dict[Part, list[Tensor]] | None,
    ) -> list[TrainingBatch]:
        batches = self.data.parts["train"]
        if given is not None:
            return [
                TrainingBatch(batch, None, weight)
                for batch, weight in zip(batches, given["train"], strict=True)
            ]
        if task.weight is None or base is None:
            return [TrainingBatch(batch) for batch in batches]
        return [
            TrainingBatch(batch, taught.probability, taught.attention)
            for batch, taught in zip(batches, base["train"], strict=True)
        ]

    def _learn(
        self,
        model: Tagger,
        training_batches: list[TrainingBatch],
        task: TrainingTask,
        base: dict[Part, list[Outputs]] | None,
        given: dict[Part, list[Tensor]] | None,
    ) -> tuple[dict[str, list[Any]], dict[str, torch.Tensor]]:
        """Train; what was measured after each epoch, and the parameters of the best one."""
        part = self.config.selection
        curve: list[Numbers] = []
        best: tuple[float, dict[str, torch.Tensor]] = (-np.inf, {})
        for _ in train(
            model, training_batches.__getitem__, len(training_batches), task, self.config.epochs
        ):
            found = self._evaluate(model, part, base, given)
            score = self._score(found, task)
            curve.append(found)
            if not best[1] or score > best[0]:
                best = score, {name: each.clone() for name, each in model.state_dict().items()}
        return {name: [each[name] for each in curve] for name in curve[0]}, best[1]

    def _score(self, found: Numbers, task: TrainingTask) -> float:
        """By which an epoch is chosen; the larger the better."""
        if task.weight is None or self.config.selection == "test":
            return mean(found["f1"])
        near = found["tvd" if task.goal.prediction == "tvd" else "taught_nll"]
        return task.weight * mean(found[task.goal.distance]) - mean(near)

    def _evaluate(
        self,
        model: Tagger,
        part: Part,
        base: dict[Part, list[Outputs]] | None,
        given: dict[Part, list[Tensor]] | None,
    ) -> Numbers:
        batches = self.data.parts[part]
        found = outputs_of(model, batches, None if given is None else given[part])
        numbers = quality(self.data, batches, found)
        return numbers if base is None else numbers | difference(batches, found, base[part])
