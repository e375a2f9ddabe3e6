"""How taggers are trained: on gold tags, against a teacher's attention, or with attention given.

Losses are pure functions of a model's outputs, and `loss_of` of its parameters, so that one loop
serves a single model and, on a GPU, many models stacked by `torch.func`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import functional_call

from headlight.papers.yang2020.tagger import Tagger
from headlight.papers.yang2020.tagging_data import TagBatch
from headlight.training.adversarial import (
    AdversarialObjective,
    Counted,
    Taught,
    adversarial_loss,
    cross_entropy,
    mean_of_real,
)
from headlight.training.schedule import rate

PEAK = 4e-3
"""The learning rate at its highest."""
BETAS = (0.9, 0.98)


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """A batch, and what goes with it.

    Attributes:
        batch: sentences with gold tags.
        probability: of the teacher's tags; None without a teacher.
        attention: the teacher's, or what is given in the place of a model's own.
    """

    batch: TagBatch
    probability: Float[Tensor, "sentence word tag"] | None = None
    attention: Float[Tensor, "sentence head query key"] | None = None


@dataclass(frozen=True)
class TrainingTask:
    """What a model is trained for, and how it begins.

    Attributes:
        seed: of its initial weights, of dropout and of the order of batches.
        weight: λ, of an adversary; None for others.
        goal: of an adversary.
        guided: whether its attention is given, and frozen.
    """

    seed: tuple[int, ...]
    weight: float | None
    goal: AdversarialObjective
    guided: bool = False


def loss_of(
    model: Tagger,
    parameters: Mapping[str, Tensor],
    training_batch: TrainingBatch,
    task: TrainingTask,
    weight: Tensor | float | None = None,
) -> Float[Tensor, ""]:
    """The loss of one batch as a pure function of parameters, and of λ if that is given."""
    batch = training_batch.batch
    given = training_batch.attention if task.guided else None
    outputs = functional_call(model, dict(parameters), (batch.words, batch.real, given))
    if task.weight is not None:
        assert training_batch.probability is not None  # noqa: S101 - an adversary has a teacher
        assert training_batch.attention is not None  # noqa: S101
        taught = Taught(training_batch.probability, training_batch.attention)
        counted = Counted(batch.real, batch.real, batch.real)
        chosen = task.weight if weight is None else weight
        return adversarial_loss(outputs, taught, counted, chosen, task.goal)
    return mean_of_real(cross_entropy(outputs[0], batch.tags), batch.real)


def train(
    model: Tagger,
    training_batches: Callable[[int], TrainingBatch],
    count: int,
    task: TrainingTask,
    epochs: int,
) -> Iterator[int]:
    """Train a model in place; yields after each epoch, with its number.

    Nothing else may use torch's random numbers while this runs.

    Args:
        model: newly made.
        training_batches: the batch of a number.
        count: how many batches there are.
        task: what for.
        epochs: passes over all batches.
    """
    parameters = dict(model.named_parameters())
    optimizer = torch.optim.Adam(parameters.values(), lr=PEAK, betas=BETAS, fused=True)
    for epoch, order in enumerate(_orders(count, epochs, task.seed)):
        model.train()
        for place, number in enumerate(order):
            optimizer.param_groups[0]["lr"] = PEAK * rate(epoch * count + place, epochs * count)
            optimizer.zero_grad()
            loss_of(model, parameters, training_batches(number), task).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        yield epoch


def _orders(count: int, epochs: int, seed: Sequence[int]) -> Iterator[list[int]]:
    generator = np.random.default_rng(list(seed))
    for _ in range(epochs):
        yield generator.permutation(count).tolist()
