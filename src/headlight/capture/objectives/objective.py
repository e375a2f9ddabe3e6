"""Training objectives of models: the loss of which gradients are taken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.settings import require_choice

NOTHING = -100
"""The label of a position that predicts nothing."""

Reduction = Literal["sum", "mean"]
"""How the loss of a sequence is made of those of its predicted positions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Batch):
    """A batch as an objective wants it: some tokens hidden, and what should be predicted.

    Attributes:
        masked: whether a token of `input_ids` is the mask token, which says nothing of its own.
        labels: the id that a position should predict, `NOTHING` where none; positions are those of
            the logits, of the target where there is one.  None where the objective has no such ids.
    """

    masked: Bool[Tensor, "batch token"]
    labels: Int64[Tensor, "batch position"] | None

    @staticmethod
    def of(
        batch: Batch,
        *,
        masked: Bool[Tensor, "batch token"] | None = None,
        labels: Int64[Tensor, "batch position"] | None = None,
    ) -> "Prepared":
        """The batch with what is known beyond it; by default nothing is hidden."""
        given = {field.name: getattr(batch, field.name) for field in fields(Batch)}
        if masked is None:
            masked = torch.zeros_like(batch.input_ids, dtype=torch.bool)
        return Prepared(**given, masked=masked, labels=labels)

    @property
    def predicted(self) -> Int64[Tensor, " batch"] | None:
        """Return the number of positions with a label, by sequence; None without labels."""
        return None if self.labels is None else (self.labels != NOTHING).sum(-1)


@runtime_checkable
class Objective(Protocol):
    """Task of a model, and the loss of its answer.

    What happens to a sequence depends on nothing but the sequence, so neither its loss nor its
    gradients depend on the others in its batch.
    """

    @property
    def reduction(self) -> Reduction:
        """Whether a loss is the sum over the predicted positions of the sequence, or their mean."""

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as the model is given it; the same for a sequence in every batch."""

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """The loss of each sequence in nats, from the model's output; their sum is differentiated.

        Raises:
            UsageError: the output is not that of a model with the right head.
        """

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that the losses depend on besides model and batch, as JSON."""


@dataclass(frozen=True)
class OwnObjective:
    """A loss of your own.

    Attributes:
        function: takes the output of the model and the batch, returns one loss per sequence.
        name: by which a run that is resumed knows that the loss is the same.
        reduction: what the function does; it is not applied again.
    """

    function: Callable[[Any, Prepared], Tensor]
    name: str
    reduction: Reduction = "mean"

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is."""
        return Prepared.of(batch)

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Return the losses of the function.

        Raises:
            UsageError: that is not one number per sequence.
        """
        found = self.function(output, batch)
        if not isinstance(found, Tensor) or found.shape != batch.lengths.shape:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise UsageError(
                f"the loss {self.name!r} gave {shape}; return a tensor with one loss per sequence, "
                f"{tuple(batch.lengths.shape)}, so that sequences do not depend on their batch."
            )
        return found

    def settings(self) -> dict[str, Any]:
        """The name."""
        return {"objective": "own", "name": self.name}


@dataclass(frozen=True, kw_only=True)
class TokenObjective:
    """Objective of a language model: cross-entropy of the labels of a batch.

    Attributes:
        reduction: over the predicted positions of a sequence.
    """

    reduction: Reduction = "sum"

    def __post_init__(self) -> None:
        require_choice("reduction of the loss", self.reduction, Reduction)

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Cross-entropy of the labels, in nats, by sequence.

        Raises:
            UsageError: the model has no language-model head.
        """
        return losses_of(output, batch.labels, self.reduction)


def losses_of(
    output: Any, labels: Int64[Tensor, "batch position"] | None, reduction: Reduction
) -> Float[Tensor, " batch"]:
    """Cross-entropy of the labels, in nats, by sequence; 0 where nothing is predicted.

    Raises:
        UsageError: the output has no logits, or the batch was prepared for another objective.
    """
    logits = getattr(output, "logits", None)
    if logits is None:
        raise UsageError(
            "the model has no language-model head, so there is no loss; load it with "
            "head='language_model'."
        )
    if labels is None:
        raise UsageError(
            "this batch was prepared for another objective; let this one prepare the batch."
        )
    chosen = labels != NOTHING
    every = logits.dim() > labels.dim()  # or rows of these alone, see `only_predicted`
    picked = (
        logits[chosen] if every else logits
    )  # before the softmax, which costs as much as the head itself
    if picked.dtype in (torch.float16, torch.bfloat16):
        picked = picked.float()
    errors = picked.new_zeros(labels.shape)
    errors[chosen] = cross_entropy(picked, labels[chosen], reduction="none")
    total = errors.sum(-1)
    reduced: Tensor = total if reduction == "sum" else total / chosen.sum(-1).clamp_min(1)
    return reduced
