"""Distances of attention and predictions, and adversaries of single texts."""

from collections.abc import Sequence

import numpy as np
import pandas
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headlight_papers.training.model_outputs import Outputs, compare
from headlight_papers.training.text_classifier import TextBatch, TextClassifier
from headlight_papers.training.text_predictor import TextPredictor, adversaries

LARGEST = "largest weight"
"""Column of `by_largest`."""
EDGES = (0.25, 0.5, 0.75, 1.0)
"""Up to which it goes in each column of Jain and Wallace (2019), Figures 6 to 9."""


def by_largest(weights: Float[np.ndarray, " text"]) -> "pandas.Categorical[str]":
    """Return the label of each text, ``≤ 0.5``, in the order of the weights."""
    labels = np.array([f"≤ {edge:g}" for edge in EDGES])
    place = np.digitize(weights, EDGES[:-1], right=True)
    return pandas.Categorical(labels[place].tolist(), labels.tolist(), ordered=True)


NUMBERS = {
    "f1": ("F1 of the second class", "1"),
    "accuracy": ("share of correct predictions", "1"),
    "auc": ("area under the ROC curve", "1"),
    "nll": ("negative log-likelihood of the gold classes per text", "nats"),
    "tvd": ("total variation between predictions and the base's", "1"),
    "kl": ("KL(attention ‖ the base's) of a text", "nats"),
    "jsd": ("JSD of attention and the base's, of a text", "nats"),
    "agreement": ("share of texts with the base's class", "1"),
}
"""Long name and unit of what is measured of a classifier: of all its quality, then its distance
from its base."""


def distances(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> dict[str, Float64[Tensor, " text"]]:
    """Compute each text's distance in prediction and attention from a teacher; see `compare`."""
    parts: dict[str, list[Tensor]] = {}
    for batch, output, reference in zip(batches, outputs, teacher, strict=True):
        mine, theirs = (
            Outputs(side.probability, side.attention.double()) for side in (output, reference)
        )
        log = output.probability.double().clamp_min(1e-300).log()
        for name, values in compare(mine, theirs, batch.valid, log).items():
            parts.setdefault(name, []).append(values.reshape(len(batch)).double())
    return {name: torch.cat(of_batches) for name, of_batches in parts.items()}


def adversaries_of_some(
    model: TextClassifier,
    batches: Sequence[TextBatch],
    numbers: Sequence[int],
    generator: torch.Generator,
) -> tuple[Float64[np.ndarray, " text"], Float64[np.ndarray, " text"]]:
    """Return the JSD of adversarial attention and the change of predictions; see `adversaries`.

    Args:
        model: Classifier of texts.
        batches: Texts for which other attention is searched.
        numbers: Numbers of all texts, in their order; texts outside the batches have NaN.
        generator: Random generator of the initial candidates.
    """
    at = {number: place for place, number in enumerate(numbers)}
    jsd, moved = np.full(len(at), np.nan), np.full(len(at), np.nan)
    for batch in batches:
        places = [at[number] for number in batch.numbers.tolist()]
        other = adversaries(TextPredictor(model, batch), generator)
        jsd[places], moved[places] = other.jsd.numpy(), other.moved.numpy()
    return jsd, moved
