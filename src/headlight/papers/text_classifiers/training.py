"""How classifiers are trained: on gold labels, against a teacher, or with attention given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from headlight.papers.text_classifiers.data import TextBatch
from headlight.papers.text_classifiers.models import Attention, Logits, TextClassifier
from headlight.training.adversarial import (
    AdversarialObjective,
    Counted,
    Taught,
    adversarial_loss,
)

RATE = 1e-3
DECAY = 1e-5
"""Weight decay, of everything but attention."""
PATIENCE = 3
"""Epochs without improvement after which training stops."""


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """A batch, and what goes with it.

    Attributes:
        batch: texts with gold labels.
        probability: of the teacher's classes; None without a teacher.
        attention: the teacher's, or what is given in the place of a model's own.
    """

    batch: TextBatch
    probability: Float[Tensor, "text class"] | None = None
    attention: Attention | None = None


@dataclass(frozen=True)
class TrainingTask:
    """What a model is trained for, and how it begins.

    Attributes:
        seed: of its initial weights and of the order of batches.
        goal: of an adversary.
        weight: λ, of an adversary; None for others.
        guided: whether its attention is given, and frozen.
    """

    seed: tuple[int, ...]
    goal: AdversarialObjective
    weight: float | None = None
    guided: bool = False


def adversary_loss(
    outputs: tuple[Logits, Attention],
    training_batch: TrainingBatch,
    weight: float,
    goal: AdversarialObjective,
) -> Float[Tensor, ""]:
    """D(predictions) − λ D(attention), both as means over texts.

    Wiegreffe and Pinter (2019), Section 4: TVD − λ KL(adversary ‖ base).  Their code has half of
    this TVD, and sums over a batch, so that λ here is twice theirs for the same balance.
    """
    assert training_batch.probability is not None  # noqa: S101 - an adversary has a teacher
    assert training_batch.attention is not None  # noqa: S101
    logits, attention = outputs
    real = training_batch.batch.real
    every = torch.ones(len(real), dtype=torch.bool)
    return adversarial_loss(
        (logits, _one_head(attention)),
        Taught(training_batch.probability, _one_head(training_batch.attention)),
        Counted(every, every[:, None], real),
        weight,
        goal,
    )


def _one_head(attention: Attention) -> Float[Tensor, "text head query position"]:
    """As a single row of a single head."""
    return attention[:, None, None]


def loss_of(
    model: TextClassifier, training_batch: TrainingBatch, task: TrainingTask
) -> Float[Tensor, ""]:
    """The loss of one batch."""
    batch = training_batch.batch
    given = training_batch.attention if task.guided else None
    outputs = model(batch.words, batch.real, given)
    if task.weight is not None:
        return adversary_loss(outputs, training_batch, task.weight, task.goal)
    return cross_entropy(outputs[0], batch.labels)


def train(
    model: TextClassifier, batches: Sequence[TrainingBatch], task: TrainingTask, epochs: int
) -> Iterator[int]:
    """Train a model in place, as the released codes do; yields after each epoch, with its number.

    Args:
        model: newly made.
        batches: of nearly the same length each; their order is drawn anew in each epoch.
        task: what for.
        epochs: passes over all batches.
    """
    optimizer = torch.optim.Adam(_groups(model), lr=RATE, amsgrad=True, fused=True)
    generator = np.random.default_rng(list(task.seed))
    for epoch in range(epochs):
        model.train()
        for number in generator.permutation(len(batches)).tolist():
            optimizer.zero_grad()
            loss_of(model, batches[number], task).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        yield epoch


def _groups(model: TextClassifier) -> list[dict[str, Any]]:
    attention = [*model.before_attention.parameters(), *model.attention.parameters()]
    others = [model.embedding, model.encoder, model.output]
    return [
        {"params": [each for part in others for each in part.parameters()], "weight_decay": DECAY},
        {"params": attention},
    ]
