"""Outputs of models with one attention, without padding, and distances from a teacher's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from headlight.measures import jensen_shannon, kullback_leibler, total_variation

Logits = Float[Tensor, "*prediction label"]
"""Logits, one row for each prediction: of a text, or of every word of it."""
Attention = Float[Tensor, "batch head query key"]
"""Weights of all heads that are asked about, of one layer or of several.

A model with one attention over a text has one head and one query.
"""

Batch = TypeVar("Batch")


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a model for a batch.

    Attributes:
        probability: Probabilities of labels.
        attention: Attention weights of the model, without dropout, or those imposed in their place.
    """

    probability: Float[Tensor, "*prediction label"]
    attention: Attention


@dataclass(frozen=True, eq=False)
class ValidMask:
    """Mask of what counts in a batch, and is no padding.

    Attributes:
        predictions: Predictions that count.
        rows: Rows whose attention counts.
        keys: Keys that count; the values at others are ignored.
    """

    predictions: Bool[Tensor, "*prediction"]
    rows: Bool[Tensor, "batch query"]
    keys: Bool[Tensor, "batch key"]

    @staticmethod
    def of_texts(words: Bool[Tensor, "text word"]) -> "ValidMask":
        """Return the mask of one prediction and one row of attention for each text."""
        all_texts = words.new_ones(len(words))
        return ValidMask(all_texts, all_texts[:, None], words)


class AttentionModel(nn.Module, Generic[Batch]):
    """Model whose one attention can be imposed from outside."""

    def run(self, batch: Batch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Return logits, and the weights that were used: the model's own, or the imposed ones."""
        raise NotImplementedError


@torch.no_grad()
def outputs_of(
    model: AttentionModel[Batch], batches: Sequence[Batch], given: Sequence[Tensor] | None = None
) -> list[Outputs]:
    """Return the outputs of a model for these batches, without dropout.

    Args:
        model: Model of any kind.
        batches: Batches that it reads.
        given: Attention for each batch, in place of the model's own.
    """
    model.eval()
    outputs = []
    for number, batch in enumerate(batches):
        logits, used = model.run(batch, None if given is None else given[number])
        outputs.append(Outputs(logits.softmax(-1), used))
    return outputs


def mean_of_valid(
    values: Float[Tensor, "*prediction"], valid: Bool[Tensor, "*prediction"]
) -> Float[Tensor, ""]:
    """Average over valid predictions."""
    return torch.where(valid, values, 0).sum() / valid.sum()


def cross_entropy(
    logits: Logits, labels: Int64[Tensor, "*prediction"]
) -> Float[Tensor, "*prediction"]:
    """Return −ln p of these labels."""
    return -chosen_log(logits.log_softmax(-1), labels)


def chosen_log(
    log_probability: Logits, labels: Int64[Tensor, "*prediction"]
) -> Float[Tensor, "*prediction"]:
    """Return ln p of these labels."""
    return log_probability.gather(-1, labels[..., None]).squeeze(-1)


def compare(
    outputs: Outputs, teacher: Outputs, valid: ValidMask, log_probability: Logits
) -> dict[str, Tensor]:
    """Compute the distance of predictions and attention from a teacher's, before any mean is taken.

    Args:
        outputs: Outputs of a model.
        teacher: Outputs of its teacher for the same batch.
        valid: Mask of what counts; other predictions and rows are left to the caller.
        log_probability: Values ln p of the model's predictions, as exact as the caller has them.

    Returns:
        By prediction ``tvd`` of the predictions, ``agreement`` on the label, and ``taught_nll``,
        −ln p of the teacher's label; by batch, head and row ``kl``, KL(model ‖ teacher) of the
        attention, and ``jsd``.
    """
    label = teacher.probability.argmax(-1)
    keys = valid.keys[:, None, None]
    return {
        "tvd": total_variation(outputs.probability, teacher.probability),
        "agreement": (outputs.probability.argmax(-1) == label).double(),
        "taught_nll": -chosen_log(log_probability, label),
        "kl": kullback_leibler(outputs.attention, teacher.attention, keys),
        "jsd": jensen_shannon(outputs.attention, teacher.attention, keys),
    }
