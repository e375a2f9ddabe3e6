"""Losses: against a teacher whose attention is moved away from, and on labels."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.measures import jensen_shannon, kullback_leibler, total_variation
from headlight_papers.training.model_outputs import (
    Attention,
    Logits,
    Outputs,
    ValidMask,
    cross_entropy,
    mean_of_valid,
)

Prediction = Literal["labels", "tvd"]
"""Distance of predictions from the teacher's: cross-entropy to its labels, or total variation."""
Distance = Literal["kl", "jsd"]
"""Distance of attention from the teacher's: KL(student ‖ teacher), or JSD."""


@dataclass(frozen=True)
class AdversarialObjective:
    """Objective of an adversary.

    Attributes:
        prediction: See `Prediction`.
        distance: See `Distance`.
    """

    prediction: Prediction = "labels"
    distance: Distance = "kl"


def prediction_loss(
    logits: Logits,
    teacher: Float[Tensor, "*prediction label"],
    valid: Bool[Tensor, "*prediction"],
    prediction: Prediction,
) -> Float[Tensor, ""]:
    """Compute the distance of predictions from the teacher's, as the mean over predictions."""
    if prediction == "tvd":
        return mean_of_valid(total_variation(logits.softmax(-1), teacher), valid)
    # The teacher's hard labels are the target, as in Yang's code, and not its probabilities.
    return mean_of_valid(cross_entropy(logits, teacher.argmax(-1)), valid)


def attention_distance(
    weight: Attention, teacher: Attention, valid: ValidMask, distance: Distance
) -> Float[Tensor, " head"]:
    """Compute the distance of attention from the teacher's, by head: the mean over rows."""
    measure = kullback_leibler if distance == "kl" else jensen_shannon
    distances = measure(weight, teacher, valid.keys[:, None, None])
    return torch.where(valid.rows[:, None], distances, 0).sum((0, 2)) / valid.rows.sum()


def adversarial_loss(
    outputs: tuple[Logits, Attention],
    teacher: Outputs,
    valid: ValidMask,
    weight: float | Tensor,
    objective: AdversarialObjective,
) -> Float[Tensor, ""]:
    """Return D(predictions) − λ D(attention), means over predictions and over rows and heads.

    Args:
        outputs: Logits and attention of the model that is trained.
        teacher: Outputs of its teacher.
        valid: Mask of the predictions, rows and keys that count.
        weight: Weight λ.
        objective: Objective with the two distances.

    Source: Yang (2020), Section 4.2, whose released code has λ times the mean over all entries of
    the attention, padding included, which is that over rows divided by their length; Wiegreffe and
    Pinter (2019), Section 4: TVD − λ KL(adversary ‖ base), whose code has half of this TVD, and
    sums over a batch, so that λ here is twice theirs for the same balance.
    """
    logits, attention = outputs
    far = attention_distance(attention, teacher.attention, valid, objective.distance).mean()
    near = prediction_loss(logits, teacher.probability, valid.predictions, objective.prediction)
    return near - weight * far
