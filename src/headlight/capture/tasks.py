"""Tasks of classifiers, by the names of their classes in transformers."""

from typing import Any, Literal

from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as OF_SEQUENCES,
    MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES as OF_TOKENS,
)

Task = Literal["sequence", "token"]
"""Whether a whole text is put into a class, or each of its tokens."""

CLASSIFIERS: dict[Task, Any] = {
    "sequence": AutoModelForSequenceClassification,
    "token": AutoModelForTokenClassification,
}


def task_of(architecture: str) -> Task | None:
    """Return the task of a class of transformers; None if it is no classifier.

    Args:
        architecture: name of the class, as ``architectures`` of a configuration gives it.
    """
    if architecture in OF_SEQUENCES.values():
        return "sequence"
    return "token" if architecture in OF_TOKENS.values() else None
