"""Predictions for one text, as logarithms of probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import MissingHeadError, with_head

Logarithms = Float64[Tensor, "output choice"]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Model and text, whose outputs are read as predictions.

    Attributes:
        model: Model with its head.
        batch: Text, as a batch of one.
        tokens: Tokens at which something is predicted; a single name for a classifier of texts.
    """

    model: CapturedModel
    batch: Batch
    tokens: tuple[str, ...]

    @staticmethod
    def of(model: CapturedModel, example: Encoded) -> "Predictor":
        """Return the predictor of an encoded text."""
        tokenizer: Any = model.tokenizer
        if model.head.task == "sequence":
            tokens: Sequence[str] = ["the text"]
        else:
            tokens = tokenizer.convert_ids_to_tokens(list(example.target or example.ids))
        return Predictor(model, model.collate([example]), tuple(tokens))

    def logarithms(self, output: Any) -> Logarithms:
        """Return the logarithms of the probabilities, from the output for the batch.

        Raises:
            MissingHeadError: The model has no head.
        """
        return self.of_copies(output, 1)[0]

    def of_copies(self, output: Any, number: int) -> list[Logarithms]:
        """Return the predictions of copies of the batch."""
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor):
            raise MissingHeadError(
                f"{self.model} has no head, and so predicts nothing; "
                f"{with_head('a language model or a classifier')}."
            )
        return [
            torch.log_softmax(copy[0].reshape(-1, copy.shape[-1]).cpu().double(), -1)
            for copy in logits.chunk(number)
        ]

    @property
    def chooses_pieces(self) -> bool:
        """Return whether pieces of the vocabulary are chosen, and not classes."""
        return self.model.head.task is None

    def names(self, choices: Sequence[int]) -> list[str]:
        """Return the names of choices: pieces of the vocabulary, or classes."""
        config: Any = self.model.transformer.config
        tokenizer: Any = self.model.tokenizer
        if not self.chooses_pieces:
            return [str(config.id2label[choice]) for choice in choices]
        # A vocabulary may be filled up with places that no piece has.
        return [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(choices))]
