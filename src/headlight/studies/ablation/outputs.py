"""Outputs of a model, with all heads and without one, and how far they are apart."""

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
"""The logarithms of the probabilities of each prediction."""

ByText = Float64[np.ndarray, "text statistic"]


@dataclass(frozen=True, eq=False)
class Outputs:
    """The predictions of a model for a batch.

    Attributes:
        owners: for each of them the number of its text.
        labels: for each of them what it should be; `NOTHING` where nobody knows.
        choose: takes them out of the logits of the batch.
        texts: how many there are in the batch.
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
        """The logarithms of the probabilities, of the logits of the batch."""
        return torch.log_softmax(single(self.choose(logits)), -1)

    def own(self, before: Logarithms) -> ByText:
        """The statistics of the model as it is, which is no divergence from itself."""
        return self.compared(before, before)[0]

    def compared(
        self, before: Logarithms, after: Logarithms
    ) -> tuple[ByText, Float[Tensor, " output"]]:
        """The statistics of other predictions, beside those of the model as it is.

        Returns:
            Means over each text, and the divergence of each prediction.
        """
        rows = max(1, NUMBERS_AT_ONCE // before.shape[-1])
        parts = (torch.split(each, rows) for each in (before, after, self.labels))
        tables = [_statistics(*part) for part in zip(*parts, strict=True)]
        by_output = torch.cat(tables)
        return self._by_text(by_output), by_output[:, STATISTICS.index("kl")]

    def _by_text(self, values: Float[Tensor, "output statistic"]) -> ByText:
        """Means over the predictions of each text that have a number; NaN if none has."""
        rows = array(values)
        has_number = ~np.isnan(rows)
        sums, counts = (np.zeros((self.texts, rows.shape[1])) for _ in range(2))
        np.add.at(sums, self.owners, np.where(has_number, rows, 0))
        np.add.at(counts, self.owners, has_number)
        means: ByText = sums / np.where(counts > 0, counts, np.nan)
        return means


def logits_of(output: Any) -> Tensor:
    """The logits of a model with a head.

    Raises:
        UsageError: the model has given none.
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
    """`STATISTICS` of each prediction; NaN where there is no label."""
    predictions = after.argmax(-1)
    labelled = labels != NOTHING
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
