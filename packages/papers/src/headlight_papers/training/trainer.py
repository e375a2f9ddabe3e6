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
        """The number of the label of each prediction."""

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
    """A batch, and what goes with it.

    Attributes:
        batch: with its labels.
        teacher: what the teacher of an adversary gives for it.
        given: attention in the place of the model's own, frozen.
    """

    batch: Batch
    teacher: Outputs | None = None
    given: Attention | None = None


@dataclass(frozen=True)
class TrainingTask:
    """Task of a training, and how the model begins.

    Attributes:
        seed: of its initial weights, of dropout and of the order of batches.
        objective: of an adversary.
        weight: λ, of an adversary; None for a model that is trained on labels.
    """

    seed: tuple[int, ...]
    objective: AdversarialObjective = field(default_factory=AdversarialObjective)
    weight: float | Tensor | None = None


def loss_of(
    outputs: tuple[Logits, Attention], batch: TrainingBatch[Any], task: TrainingTask
) -> Float[Tensor, ""]:
    """The loss of one batch, as a pure function of what a model gives for it."""
    valid = batch.batch.valid
    if task.weight is None:
        return mean_of_valid(cross_entropy(outputs[0], batch.batch.labels), valid.predictions)
    assert batch.teacher is not None  # noqa: S101 - an adversary has a teacher
    return adversarial_loss(outputs, batch.teacher, valid, task.weight, task.objective)


class Trainer(ModelStore[Job], Generic[Job, Model, Batch]):
    """Trains models of one kind; what they are, and what they learn from, is said by who inherits.

    Attributes:
        longest_gradient: to which the gradients of a step are cut; None for all lengths.
    """

    longest_gradient: float | None = None

    def begin(self, job: Job) -> Model:
        """A new model; its random weights are those of torch's seed."""
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
        """The part of a model that torch trains: by default the model itself."""
        assert isinstance(model, nn.Module)  # noqa: S101 - others say what it is
        return model

    def epochs(
        self,
        model: Model,
        task: TrainingTask,
        epochs: int,
        batches: Callable[[np.random.Generator], Iterable[TrainingBatch[Batch]]],
    ) -> Iterator[float]:
        """Train a model in place; after each epoch its mean loss, with the model ready to be asked.

        Nothing else may use torch's random numbers while this runs.

        Args:
            model: newly made.
            task: what for.
            epochs: passes over all batches.
            batches: those of an epoch, in the order that is drawn with the generator.
        """
        network = self.network(model)
        optimizer, schedule = self.optimizer(model)
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
            model: that `epochs` trains.
            epochs: see the method of this name.
            measure: what is measured after each epoch.
            score: by which they are compared; the larger the better, of equal ones the first.
            patience: epochs without improvement after which training stops; None for never.

        Returns:
            What was measured after each epoch, by name.
        """
        network, curve = self.network(model), list[Numbers]()
        best: dict[str, Tensor] = {}
        highest, at = -np.inf, 0
        for epoch, _ in enumerate(epochs):
            curve.append(measure())
            reached = score(curve[-1])
            if not best or reached > highest:
                highest, at = reached, epoch
                best = {name: each.clone() for name, each in network.state_dict().items()}
            if patience is not None and epoch - at >= patience:
                break
        network.load_state_dict(best)
        return {name: [each[name] for each in curve] for name in curve[0]}
