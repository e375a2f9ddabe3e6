"""Outputs of a model with all heads and without one, and the divergence between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from headlight.capture import NOTHING, Prepared
from headlight.engine.labelled_texts import Classified
from headlight.errors import UsageError, with_head
from headlight.measures import kullback_leibler_of_logarithms
from headlight.observations.classifier_outputs import LabelPositions
from headlight.observations.layer_arrays import array
from headlight.tensors import single

STATISTICS = ("kl", "changed", "loss", "accuracy")
"""Statistics of each text: means over its predictions, for the last two over those with a label."""

NUMBERS_AT_ONCE = 1 << 20
"""Number of probabilities compared at a time: 4 MB, which a cache holds between steps."""

Logarithms = Float[Tensor, "output choice"]
"""Log-probabilities of each prediction."""

ByText = Float64[np.ndarray, "text statistic"]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Predictions of a model for a batch.

    Attributes:
        owners: Number of the text that each prediction belongs to.
        labels: Label of each prediction; `NOTHING` where none is known.
        choose: Function that selects the predictions from the logits of the batch.
        texts: Number of texts in the batch.
    """

    owners: Int64[np.ndarray, " output"]
    labels: Int64[Tensor, " output"]
    choose: Callable[[Tensor], Tensor]
    texts: int

    @staticmethod
    def of_words(batch: Prepared) -> "Outputs":
        """Return the outputs of a language model, for all tokens with a label.

        Raises:
            UsageError: the objective has no labels.
        """
        labels = batch.labels
        if labels is None:
            raise UsageError(
                "the objective has a loss of its own and no words that should be predicted; leave "
                "it out, or give that of a language model."
            )
        words = batch.word if batch.target_word is None else batch.target_word
        # Words without a label still have a prediction, whose divergence counts.
        rows, places = ((labels != NOTHING) | (words >= 0)).nonzero(as_tuple=True)
        return Outputs(
            rows.cpu().numpy(),
            labels[rows, places],
            lambda logits: logits[rows, places],
            len(batch.lengths),
        )

    @staticmethod
    def of_classes(examples: Sequence[Classified], device: torch.device | str) -> "Outputs":
        """Return the outputs of a classifier: one for each text, or for each word of a sentence."""
        positions = LabelPositions(examples, device)
        labels = torch.from_numpy(positions.labels).to(device)
        return Outputs(positions.owners, labels, positions.predictions, len(examples))

    def logarithms(self, logits: Tensor) -> Logarithms:
        """Return the log-probabilities of the predictions, given the logits of the batch."""
        return torch.log_softmax(single(self.choose(logits)), -1)

    def describe_intact(self, before: Logarithms) -> ByText:
        """Return the statistics of the intact model, whose divergence from itself is 0."""
        return self.compare(before, before)[0]

    def compare(
        self, before: Logarithms, after: Logarithms
    ) -> tuple[ByText, Float[Tensor, " output"]]:
        """Compare other predictions with those of the intact model.

        Returns:
            Means of the statistics over each text, and the divergence of each prediction.
        """
        rows = max(1, NUMBERS_AT_ONCE // before.shape[-1])
        parts = (torch.split(values, rows) for values in (before, after, self.labels))
        tables = [_statistics(*part) for part in zip(*parts, strict=True)]
        by_output = torch.cat(tables)
        return self._average_by_text(by_output), by_output[:, STATISTICS.index("kl")]

    def _average_by_text(self, values: Float[Tensor, "output statistic"]) -> ByText:
        """Return means over the predictions of each text, ignoring NaN; NaN if all are NaN."""
        rows = array(values)
        has_number = ~np.isnan(rows)
        sums, counts = (np.zeros((self.texts, rows.shape[1])) for _ in range(2))
        # `+=` would add only one of several predictions of a text.
        np.add.at(sums, self.owners, np.where(has_number, rows, 0))
        np.add.at(counts, self.owners, has_number)
        means: ByText = sums / np.where(counts > 0, counts, np.nan)
        return means


def logits_of(output: Any) -> Tensor:
    """Return the logits of a model with a head.

    Raises:
        UsageError: the model returned none.
    """
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor):
        raise UsageError(
            "the model gives no logits, so that nothing is predicted; "
            f"{with_head('a language model or a classifier')}."
        )
    return logits


def _statistics(
    before: Logarithms, after: Logarithms, labels: Int64[Tensor, " output"]
) -> Float[Tensor, "output statistic"]:
    """Return `STATISTICS` of each prediction; NaN where it needs a label and there is none."""
    predictions = after.argmax(-1)
    labelled = labels != NOTHING
    # `NOTHING` is negative, which `gather` refuses; the loss at the clamped place is masked below.
    loss = -after.gather(-1, labels.clamp_min(0)[:, None])[:, 0]
    return torch.stack(
        [
            kullback_leibler_of_logarithms(before, after),
            (predictions != before.argmax(-1)).to(loss),
            loss.masked_fill(~labelled, torch.nan),
            (predictions == labels).to(loss).masked_fill(~labelled, torch.nan),
        ],
        -1,
    )
