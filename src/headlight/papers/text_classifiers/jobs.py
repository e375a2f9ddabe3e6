"""The models that papers train on one set of texts, each kept when it is finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headlight.papers.labelled_sets import PARTS, Part
from headlight.papers.text_classifiers.data import TextData
from headlight.papers.text_classifiers.evaluation import (
    Numbers,
    Outputs,
    difference,
    outputs_of,
    quality,
    uniform_attention,
)
from headlight.papers.text_classifiers.models import ENCODERS, Encoder, TextClassifier
from headlight.papers.text_classifiers.training import (
    PATIENCE,
    TrainingBatch,
    TrainingTask,
    train,
)
from headlight.training import KeptModels
from headlight.training.adversarial import AdversarialObjective

Kind = Literal["base", "adversary", "guided"]
STREAMS: tuple[Kind, ...] = ("base", "adversary", "guided")
"""Models of one seed begin differently if they are of different kinds."""
Guide = Literal["base", "adversary", "uniform"]
"""Where the attention comes from that a model is given."""


@dataclass(frozen=True)
class ClassifierJob:
    """One model that is trained.

    Attributes:
        kind: on gold labels, against a base, or on gold labels with attention given.
        encoder: see `headlight.papers.text_classifiers.models.Encoder`.
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
    def base(self) -> "ClassifierJob":
        """The model that it is compared with, and taught by if it is an adversary."""
        return ClassifierJob("base", self.of or self.encoder, self.seed)

    @property
    def source(self) -> "ClassifierJob":
        """The model whose attention a guided one is given."""
        if self.guide == "adversary":
            return ClassifierJob("adversary", self.of or self.encoder, self.seed, self.weight)
        return self.base

    def task(self, goal: AdversarialObjective) -> TrainingTask:
        """What it is trained for."""
        weight = self.weight if self.kind == "adversary" else None
        seed = (self.seed, STREAMS.index(self.kind), list(ENCODERS).index(self.encoder))
        return TrainingTask(seed, goal, weight, self.kind == "guided")


@dataclass(frozen=True)
class TrainingConfig:
    """What all models have in common.

    Attributes:
        epochs: passes over the training part at most.
        goal: of adversaries.
        selection: the part on which the best epoch is chosen: by the area under the ROC curve, and
            of an adversary by its loss.
        patience: epochs without improvement after which training stops.
    """

    epochs: int
    goal: AdversarialObjective
    selection: Part = "dev"
    patience: int = PATIENCE


@dataclass(frozen=True, eq=False)
class ClassifierTrainer(KeptModels[ClassifierJob]):
    """Trains models on the same texts, and keeps each in a file of its own.

    Attributes:
        data: what is learnt.
        config: how.
        folder: of the files.
    """

    data: TextData
    config: TrainingConfig
    folder: Path

    def model(self, job: ClassifierJob) -> TextClassifier:
        """A finished model."""
        with torch.random.fork_rng(devices=()):  # what it begins with is of no interest
            model = self._new(job.encoder)
        model.load_state_dict(self.parameters(job))
        return model.eval()

    def outputs(
        self, job: ClassifierJob, parts: Sequence[Part] = PARTS
    ) -> dict[Part, list[Outputs]]:
        """What a finished model does; with the attention that it was trained with."""
        given = self._given(job, parts)
        model = self.model(job)
        return {part: outputs_of(model, self.data.parts[part], given.get(part)) for part in parts}

    def run(self, job: ClassifierJob) -> None:
        """Train a model, evaluate it, and write its file; what it is taught by must be there."""
        taught = {} if job.kind == "base" else self.outputs(job.base)
        given = self._given(job, PARTS)
        task = job.task(self.config.goal)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(int(np.random.SeedSequence(task.seed).generate_state(1)[0]))
            model = self._new(job.encoder)
        curve, best = self._learn(model, task, taught, given)
        model.load_state_dict(best)
        measured: dict[str, Any] = {"curve": curve}
        for part in ("dev", "test"):
            measured[part] = self._evaluate(model, part, taught, given)
        self.save(job, model.state_dict(), measured)

    def _new(self, encoder: Encoder) -> TextClassifier:
        data = self.data
        return TextClassifier(encoder, len(data.vocabulary), len(data.classes), data.vectors)

    def _given(self, job: ClassifierJob, parts: Sequence[Part]) -> dict[Part, list[Tensor]]:
        """The attention that a guided model gets."""
        if job.guide is None or job.kind != "guided":
            return {}
        if job.guide == "uniform":
            return {
                part: [uniform_attention(each) for each in self.data.parts[part]] for part in parts
            }
        return {
            part: [output.attention for output in outputs]
            for part, outputs in self.outputs(job.source, parts).items()
        }

    def _training_batches(
        self,
        task: TrainingTask,
        taught: dict[Part, list[Outputs]],
        given: dict[Part, list[Tensor]],
    ) -> list[TrainingBatch]:
        batches = self.data.parts["train"]
        if given:
            return [
                TrainingBatch(batch, None, weight)
                for batch, weight in zip(batches, given["train"], strict=True)
            ]
        if task.weight is None:
            return [TrainingBatch(batch) for batch in batches]
        return [
            TrainingBatch(batch, output.probability, output.attention)
            for batch, output in zip(batches, taught["train"], strict=True)
        ]

    def _learn(
        self,
        model: TextClassifier,
        task: TrainingTask,
        taught: dict[Part, list[Outputs]],
        given: dict[Part, list[Tensor]],
    ) -> tuple[dict[str, list[float]], dict[str, Tensor]]:
        """Train; what was measured after each epoch, and the parameters of the best one."""
        curve: list[Numbers] = []
        best: dict[str, Tensor] = {}
        highest, at = -np.inf, 0
        batches = self._training_batches(task, taught, given)
        for epoch in train(model, batches, task, self.config.epochs):
            found = self._evaluate(model, self.config.selection, taught, given)
            curve.append(found)
            score = self._score(found, task)
            if not best or score > highest:
                highest, at = score, epoch
                best = {name: each.clone() for name, each in model.state_dict().items()}
            if epoch - at >= self.config.patience:
                break
        return {name: [each[name] for each in curve] for name in curve[0]}, best

    def _score(self, found: Numbers, task: TrainingTask) -> float:
        """By which an epoch is chosen; the larger the better."""
        if task.weight is None:
            return found["auc"]
        near = found["tvd" if task.goal.prediction == "tvd" else "taught_nll"]
        return task.weight * found[task.goal.distance] - near

    def _evaluate(
        self,
        model: TextClassifier,
        part: Part,
        taught: dict[Part, list[Outputs]],
        given: dict[Part, list[Tensor]],
    ) -> Numbers:
        batches = self.data.parts[part]
        found = outputs_of(model, batches, given.get(part))
        numbers = quality(batches, found)
        return numbers | difference(batches, found, taught[part]) if taught else numbers
