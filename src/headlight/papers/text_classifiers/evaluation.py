"""What a trained classifier is worth, and how far it is from another, in numbers for one part."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from torch import Tensor

from headlight.measures import jensen_shannon, kullback_leibler, total_variation
from headlight.papers.text_classifiers.data import TextBatch
from headlight.papers.text_classifiers.models import Attention, TextClassifier

Numbers = dict[str, float]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model does with one batch.

    Attributes:
        probability: of classes.
        attention: its own, or what was given in its place.
    """

    probability: Float[Tensor, "text class"]
    attention: Attention


@torch.no_grad()
def outputs_of(
    model: TextClassifier, batches: Sequence[TextBatch], given: Sequence[Tensor] | None = None
) -> list[Outputs]:
    """The outputs of a model for these batches.

    Args:
        model: any.
        batches: of texts.
        given: attention for each batch, in the place of the model's own.
    """
    model.eval()
    found = []
    for number, batch in enumerate(batches):
        logits, weight = model(batch.words, batch.real, None if given is None else given[number])
        found.append(Outputs(logits.softmax(-1), weight))
    return found


def uniform_attention(batch: TextBatch) -> Attention:
    """The same weight for every word of a text; none for padding."""
    return batch.real / batch.real.sum(-1, keepdim=True)


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
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], taught: Sequence[Outputs]
) -> dict[str, Float64[Tensor, " text"]]:
    """How far each text's prediction and attention are from another model's, by name.

    ``tvd`` of the two classes' probabilities, which is the difference of one of them, ``kl`` of the
    attention from the other's, ``jsd``, ``agreement`` on the class, and ``taught_nll``, −ln p of
    the other's class.
    """
    parts = [
        _distances(batch, one, other)
        for batch, one, other in zip(batches, outputs, taught, strict=True)
    ]
    return {name: torch.cat([part[name].double() for part in parts]) for name in parts[0]}


def difference(
    batches: Sequence[TextBatch], outputs: Sequence[Outputs], taught: Sequence[Outputs]
) -> Numbers:
    """The means of `distances` over texts."""
    found = distances(batches, outputs, taught)
    return {name: float(values.mean()) for name, values in found.items()}


def _distances(batch: TextBatch, one: Outputs, other: Outputs) -> dict[str, Tensor]:
    chosen = other.probability.argmax(-1)
    p = one.probability.double().gather(-1, chosen[:, None]).squeeze(-1)
    mine, theirs = one.attention.double(), other.attention.double()
    return {
        "tvd": total_variation(one.probability, other.probability),
        "kl": kullback_leibler(mine, theirs, batch.real),
        "jsd": jensen_shannon(mine, theirs, batch.real),
        "agreement": one.probability.argmax(-1) == chosen,
        "taught_nll": -p.clamp_min(1e-300).log(),
    }
