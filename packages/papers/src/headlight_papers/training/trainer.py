"""One loop of training: on labels, against a teacher, or with attention given."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from headlight_papers.training.losses import AdversarialObjective, adversarial_loss
from headlight_papers.training.model_outputs import (
    Attention,
    AttentionModel,
    Logits,
    Outputs,
    ValidMask,
    cross_entropy,
    mean_of_valid,
)
from headlight_words.training.model_store import ModelStore, NamedJob

Numbers = dict[str, Any]
"""Measurements of a model by name: a number, or one for each head."""


@runtime_checkable
class LabelledBatch(Protocol):
    """Interface of a batch of texts or sentences."""

    @property
    def labels(self) -> Tensor:
        """Return the number of the label of each prediction."""

    @property
    def valid(self) -> ValidMask:
        """Return the mask of what counts."""

    def __len__(self) -> int:
        """Return the number of texts."""


Batch = TypeVar("Batch", bound=LabelledBatch)
Model = TypeVar("Model")
Job = TypeVar("Job", bound=NamedJob)


@dataclass(frozen=True, eq=False)
class TrainingBatch(Generic[Batch]):
    """Batch of training, with the outputs of a teacher or imposed attention.

    Attributes:
        batch: Batch with its labels.
        teacher: Outputs of the teacher of an adversary for the batch.
        given: Attention in place of the model's own, frozen.
    """

    batch: Batch
    teacher: Outputs | None = None
    given: Attention | None = None


@dataclass(frozen=True)
class TrainingTask:
    """Task of a training: seed and objective.

    Attributes:
        seed: Seed of initial weights, of dropout and of the order of batches.
        objective: Objective of an adversary.
        weight: Weight λ of an adversary; None for a model that is trained on labels.
    """

    seed: tuple[int, ...]
    objective: AdversarialObjective = field(default_factory=AdversarialObjective)
    weight: float | Tensor | None = None


def loss_of(
    outputs: tuple[Logits, Attention], batch: TrainingBatch[Any], task: TrainingTask
) -> Float[Tensor, ""]:
    """Return the loss of one batch, as a pure function of the output of a model."""
    valid = batch.batch.valid
    if task.weight is None:
        return mean_of_valid(cross_entropy(outputs[0], batch.batch.labels), valid.predictions)
    assert batch.teacher is not None  # noqa: S101 - an adversary has a teacher
    return adversarial_loss(outputs, batch.teacher, valid, task.weight, task.objective)


class Trainer(ModelStore[Job], Generic[Job, Model, Batch]):
    """Trainer of models of one kind; subclasses define the models and their data.

    Attributes:
        longest_gradient: Norm to which the gradients of a step are clipped; None for no limit.
    """

    longest_gradient: float | None = None

    def begin(self, job: Job) -> Model:
        """Return a new model; its random weights come from torch's seed."""
        raise NotImplementedError

    def optimizer(self, model: Model) -> tuple[Optimizer, LRScheduler | None]:
        """Return the optimizer, and the scheduler of its learning rate, if any."""
        raise NotImplementedError

    def forward(
        self, model: Model, batch: Batch, given: Attention | None
    ) -> tuple[Logits, Attention]:
        """Return the output of a model for a batch: logits, and the attention that was used."""
        assert isinstance(model, AttentionModel)  # noqa: S101 - others say how they run
        output: tuple[Logits, Attention] = model.run(batch, given)
        return output

    def network(self, model: Model) -> nn.Module:
        """Return the part of a model that torch trains: by default the model itself."""
        assert isinstance(model, nn.Module)  # noqa: S101 - others say what it is
        return model

    def epochs(
        self,
        model: Model,
        task: TrainingTask,
        epochs: int,
        batches: Callable[[np.random.Generator], Iterable[TrainingBatch[Batch]]],
    ) -> Iterator[float]:
        """Train a model in place; yield its mean loss after each epoch, when the model can be used.

        Nothing else may use torch's random numbers while this runs.

        Args:
            model: New model.
            task: Task of the training.
            epochs: Number of passes over all batches.
            batches: Function that yields the batches of an epoch, in an order that it draws.
        """
        network = self.network(model)
        optimizer, schedule = self.optimizer(model)
        # Orders have a generator of their own, so that dropout does not move them.
        orders = np.random.default_rng(list(task.seed))
        for _ in range(epochs):
            network.train()
            total, texts = 0.0, 0
            for batch in batches(orders):
                loss = loss_of(self.forward(model, batch.batch, batch.given), batch, task)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                if self.longest_gradient is not None:
                    nn.utils.clip_grad_norm_(network.parameters(), self.longest_gradient)
                optimizer.step()
                if schedule is not None:
                    schedule.step()
                # The mean over texts, since the last batch of an epoch may be smaller.
                total += float(loss.detach()) * len(batch.batch)
                texts += len(batch.batch)
            network.eval()
            yield total / texts

    def choose_epoch(
        self,
        model: Model,
        epochs: Iterable[float],
        measure: Callable[[], Numbers],
        score: Callable[[Numbers], float],
        patience: int | None = None,
    ) -> dict[str, list[Any]]:
        """Train, and give the model the parameters of its best epoch.

        Args:
            model: Model that `epochs` trains.
            epochs: See the method of this name.
            measure: Function that measures the model after each epoch.
            score: Function that scores a measurement; the largest wins, of equal ones the first.
            patience: Epochs without improvement after which training stops; None for never.

        Returns:
            Measurements after each epoch, by name.
        """
        network, curve = self.network(model), list[Numbers]()
        best: dict[str, Tensor] = {}
        highest, at = -np.inf, 0
        for epoch, _ in enumerate(epochs):
            curve.append(measure())
            reached = score(curve[-1])
            # The first epoch is kept even where its score is NaN.
            if not best or reached > highest:
                highest, at = reached, epoch
                # Parameters are copied, since training goes on in place.
                best = {name: values.clone() for name, values in network.state_dict().items()}
            if patience is not None and epoch - at >= patience:
                break
        network.load_state_dict(best)
        return {name: [numbers[name] for numbers in curve] for name in curve[0]}
