"""Losses of models that are trained against the attention of another, as pure functions."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from headlight.measures import jensen_shannon, kullback_leibler, total_variation

Prediction = Literal["labels", "tvd"]
"""How far predictions are from the teacher's: cross-entropy to its labels, or total variation."""
Distance = Literal["kl", "jsd"]
"""How far attention is from the teacher's: KL(student ‖ teacher), or JSD."""

Logits = Float[Tensor, "*answer label"]
"""One row for each answer: of a text, or of every word of it."""
Attention = Float[Tensor, "batch head query key"]
"""Weights of all heads that are asked about, of one layer or of several."""


@dataclass(frozen=True)
class AdversarialObjective:
    """What an adversary is trained for.

    Attributes:
        prediction: see `Prediction`.
        distance: see `Distance`.
    """

    prediction: Prediction = "labels"
    distance: Distance = "kl"


@dataclass(frozen=True, eq=False)
class Taught:
    """What a teacher does with a batch.

    Attributes:
        probability: of labels.
        attention: its weights, without dropout.
    """

    probability: Float[Tensor, "*answer label"]
    attention: Attention


@dataclass(frozen=True, eq=False)
class Counted:
    """What of a batch counts, and is no padding.

    Attributes:
        answers: which predictions.
        rows: whose attention.
        keys: which keys; what stands in others is not looked at.
    """

    answers: Bool[Tensor, "*answer"]
    rows: Bool[Tensor, "batch query"]
    keys: Bool[Tensor, "batch key"]


def mean_of_real(
    values: Float[Tensor, "*answer"], real: Bool[Tensor, "*answer"]
) -> Float[Tensor, ""]:
    """The mean over those that are no padding."""
    return torch.where(real, values, 0).sum() / real.sum()


def cross_entropy(logits: Logits, labels: Int64[Tensor, "*answer"]) -> Float[Tensor, "*answer"]:
    """−ln p of these labels."""
    return -logits.log_softmax(-1).gather(-1, labels[..., None]).squeeze(-1)


def prediction_loss(
    logits: Logits,
    taught: Float[Tensor, "*answer label"],
    real: Bool[Tensor, "*answer"],
    prediction: Prediction,
) -> Float[Tensor, ""]:
    """How far predictions are from the teacher's, as the mean over answers."""
    if prediction == "tvd":
        return mean_of_real(total_variation(logits.softmax(-1), taught), real)
    return mean_of_real(cross_entropy(logits, taught.argmax(-1)), real)


def attention_distance(
    weight: Attention, taught: Attention, counted: Counted, distance: Distance
) -> Float[Tensor, " head"]:
    """How far attention is from the teacher's, by head: the mean over rows."""
    measure = kullback_leibler if distance == "kl" else jensen_shannon
    found = measure(weight, taught, counted.keys[:, None, None])
    return torch.where(counted.rows[:, None], found, 0).sum((0, 2)) / counted.rows.sum()


def adversarial_loss(
    outputs: tuple[Logits, Attention],
    taught: Taught,
    counted: Counted,
    weight: float | Tensor,
    goal: AdversarialObjective,
) -> Float[Tensor, ""]:
    """D(predictions) − λ D(attention), as means over answers, and over rows and heads.

    Args:
        outputs: logits and attention of the model that is trained.
        taught: those of its teacher.
        counted: what counts.
        weight: λ.
        goal: the two distances.

    Source: Yang, Section 4.2, whose released code has λ times the mean over all entries of the
    attention, padding included, which is that over rows divided by their length; Wiegreffe and
    Pinter (2019), Section 4.
    """
    logits, attention = outputs
    far = attention_distance(attention, taught.attention, counted, goal.distance).mean()
    near = prediction_loss(logits, taught.probability, counted.answers, goal.prediction)
    return near - weight * far
