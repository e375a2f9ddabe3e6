"""Predictions in the output of a classifier: of each text, or of each word."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.capture import CapturedModel
from headlight.encode.batch import Batch
from headlight.engine.labelled_texts import Classified
from headlight.errors import CaptureError, setting

Outputs = Float64[Tensor, "output class"]
"""The probabilities of the classes: of each text, or of each word of each sentence."""


def require_finite_predictions(logits: Tensor, model: CapturedModel, batch: Batch) -> None:
    """Refuse predictions that are not finite.

    Raises:
        CaptureError: The predictions are not finite.
    """
    if not bool(logits.isfinite().all()):
        raise CaptureError(
            f"{model}: what it gives for {batch.names[0]} or a text beside it is not finite; "
            f"look at its weights, or load it in a wider precision ({setting('dtype=')})."
        )


class LabelPositions:
    """Positions of the predictions in the output of a classifier for a batch.

    Args:
        examples: Texts of the batch, in its order; padded on the right.
        device: Device of the model.

    Attributes:
        owners: Number in the batch of the text of each prediction.
        labels: Correct class of each prediction.
    """

    def __init__(self, examples: Sequence[Classified], device: torch.device | str) -> None:
        numbers = [len(example.labels) for example in examples]
        self.owners: Int64[np.ndarray, " output"] = np.repeat(np.arange(len(examples)), numbers)
        self.labels: Int64[np.ndarray, " output"] = np.array(
            [label for example in examples for label in example.labels], dtype=np.int64
        )
        self._texts = len(examples)
        of_tokens = any(example.places for example in examples)
        places = [place for example in examples for place in example.places]
        self._places = torch.tensor(places, device=device) if of_tokens else None
        self._rows = torch.tensor(self.owners, device=device)

    def predictions(
        self, logits: Float[Tensor, "batch *token class"]
    ) -> Float[Tensor, "output class"]:
        """Return the logits of a batch that are predictions, text by text."""
        return logits if self._places is None else logits[self._rows, self._places]

    def probabilities(self, model: CapturedModel, batch: Batch) -> Outputs:
        """Run the model forward once and return the probabilities of its predictions, text by text.

        Raises:
            CaptureError: The predictions are not finite.
        """
        chosen = self.predictions(model.run(batch).logits)
        require_finite_predictions(chosen, model, batch)
        probabilities: Outputs = chosen.cpu().double().softmax(-1)
        return probabilities

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """Return the differentiable mean over the predictions of each text."""
        sums = values.new_zeros(len(values), self._texts).index_add(1, self._rows, values)
        return sums / self._rows.bincount(minlength=self._texts)

    def by_text(
        self, values: Float64[np.ndarray, "output *cell"]
    ) -> Float64[np.ndarray, "text *cell"]:
        """Return the mean over the predictions of each text."""
        sums = np.zeros((self._texts, *values.shape[1:]))
        # `sums[owners] += values` would add only one prediction of each text.
        np.add.at(sums, self.owners, values)
        numbers = np.bincount(self.owners, minlength=self._texts)
        means: Float64[np.ndarray, "text *cell"] = sums / numbers.reshape(
            -1, *(1,) * (values.ndim - 1)
        )
        return means
