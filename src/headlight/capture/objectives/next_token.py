"""Predicting the next token: decoders, and encoder-decoders that are given what they should say."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Int64
from torch import Tensor

from headlight.capture.objectives.objective import NOTHING, Prepared, TokenObjective
from headlight.encode.batch import Batch
from headlight.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class CausalLanguageModel(TokenObjective):
    """Every token predicts the next one of its sequence; the last predicts nothing.

    Attributes:
        reduction: over the predicted tokens of a sequence.
    """

    def prepare(self, batch: Batch) -> Prepared:
        """The batch as it is, with the next tokens as labels."""
        return Prepared.of(batch, labels=_next(batch.input_ids, batch.attention_mask))

    def settings(self) -> dict[str, Any]:
        """The options."""
        return {"objective": "causal language model", "reduction": self.reduction}


@dataclass(frozen=True, kw_only=True)
class SequenceToSequence(TokenObjective):
    """Every token of the target predicts the next one of it, given the source.

    The decoder is given the true target (teacher forcing), which begins with its start token.

    Attributes:
        reduction: over the predicted tokens of a target.
    """

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
