"""Predicting the next token: decoders, and encoder-decoders that are given what they should say."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture.objectives.objective import (
    NOTHING,
    Prepared,
    Reduction,
    losses_of,
)
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.settings import require_choice


@dataclass(frozen=True, kw_only=True)
class CausalLanguageModel:
    """Every token predicts the next one of its sequence; the last predicts nothing.

    Attributes:
        reduction: over the predicted tokens of a sequence.
    """

    reduction: Reduction = "sum"

    def __post_init__(self) -> None:
        require_choice("reduction of the loss", self.reduction, Reduction)

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is, with the next tokens as labels."""
        return Prepared.of(batch, labels=_next(batch.input_ids, batch.attention_mask))

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Cross-entropy of the next tokens, in nats, by sequence.

        Raises:
            UsageError: the model has no language-model head.
        """
        return losses_of(output, batch.labels, self.reduction)

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {"objective": "causal language model", "reduction": self.reduction}


@dataclass(frozen=True, kw_only=True)
class SequenceToSequence:
    """Every token of the target predicts the next one of it, given the source.

    The decoder is given the true target (teacher forcing), which begins with its start token.

    Attributes:
        reduction: over the predicted tokens of a target.
    """

    reduction: Reduction = "sum"

    def __post_init__(self) -> None:
        require_choice("reduction of the loss", self.reduction, Reduction)

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is, with the next tokens of the target as labels.

        Raises:
            UsageError: there are no targets.
        """
        if batch.target_ids is None or batch.target_mask is None:
            raise UsageError(
                "an encoder-decoder predicts a second text, and these examples have one only; use "
                "pairs."
            )
        return Prepared.of(batch, labels=_next(batch.target_ids, batch.target_mask))

    def loss(self, output: Any, batch: Prepared) -> Float[Tensor, " batch"]:
        """Cross-entropy of the next tokens of the target, in nats, by sequence.

        Raises:
            UsageError: the model has no language-model head.
        """
        return losses_of(output, batch.labels, self.reduction)

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {"objective": "sequence to sequence", "reduction": self.reduction}


def _next(
    ids: Int64[Tensor, "batch position"], mask: Int64[Tensor, "batch position"]
) -> Int64[Tensor, "batch position"]:
    """The id one position later, where it and its predecessor are no padding."""
    labels = ids.roll(-1, dims=1)
    both = (mask > 0) & (mask.roll(-1, dims=1) > 0)
    both[:, -1] = False
    return labels.masked_fill(~both, NOTHING)
