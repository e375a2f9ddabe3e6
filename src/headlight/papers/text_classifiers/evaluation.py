"""What a trained classifier is worth, and how far it is from another, in numbers for one part."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from torch import Tensor

from headlight.training.outputs import Outputs, compare
from headlight.training.text_classifier import TextBatch

Numbers = dict[str, float]


def quality(batches: Sequence[TextBatch], outputs: Sequence[Outputs]) -> Numbers:
    """F1 of the second class, accuracy, area under the ROC curve, and NLL of gold labels.

    The area is NaN where all texts are of one class.
    """
    labels = torch.cat([batch.labels for batch in batches]).numpy()
    probability = torch.cat([output.probability for output in outputs]).double().numpy()
    chosen = probability.argmax(-1)
    both = len(np.unique(labels)) == 2
    gold = probability[np.arange(len(labels)), labels]
    return {
        "f1": float(f1_score(labels, chosen, zero_division=0)),
        "accuracy": float(accuracy_score(labels, chosen)),
        "auc": float(roc_auc_score(labels, probability[:, 1])) if both else np.nan,
        "nll": float(-np.log(np.maximum(gold, 1e-300)).mean()),
    }


def distances(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> dict[str, Float64[Tensor, " text"]]:
    """How far each text's prediction and attention are from another model's; see `compare`."""
    parts = [
        _distances(batch, one, other)
        for batch, one, other in zip(batches, outputs, teacher, strict=True)
    ]
    return {name: torch.cat([part[name].double() for part in parts]) for name in parts[0]}


def difference(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], teacher: Sequence[Outputs]
) -> Numbers:
    """The means of `distances` over texts."""
    found = distances(batches, outputs, teacher)
    return {name: float(values.mean()) for name, values in found.items()}


def _distances(batch: TextBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    mine, theirs = (Outputs(each.probability, each.attention.double()) for each in (one, other))
    log = one.probability.double().clamp_min(1e-300).log()
    found = compare(mine, theirs, batch.valid, log)
    return {name: values.reshape(len(batch)) for name, values in found.items()}
