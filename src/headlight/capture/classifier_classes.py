"""Classes of a classifier: its task, and their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headlight.capture.captured_model import CapturedModel
from headlight.capture.prediction_heads import Task
from headlight.catalogue.embedded_models import EMBEDDED_CLASSIFIER
from headlight.errors import CorpusError, MissingHeadError, UsageError, setting, with_head

UNNAMED = "LABEL_"
"""Prefix of the names that transformers gives to classes without a name of their own."""


@dataclass(frozen=True)
class Classes:
    """Classes of a model.

    Attributes:
        task: Classification of texts or of their tokens.
        names: Names of the classes, in the order of the model's outputs.
    """

    task: Task
    names: tuple[str, ...]

    @classmethod
    def from_model(cls, model: CapturedModel, names: Sequence[str] | None = None) -> "Classes":
        """Return the classes of a model that was loaded with its head.

        Args:
            model: Model with its head.
            names: Names of the classes, in the order of its outputs; by default its own.

        Raises:
            MissingHeadError: the model has no classification head.
            UsageError: the model does not choose one of several classes, or the names are too few
                or too many.
        """
        network: Any = model.transformer
        task = model.head.task
        if task is None:
            raise MissingHeadError(
                f"{model} is a {type(network).__name__}, which has no classification head; "
                f"{with_head('a classifier', EMBEDDED_CLASSIFIER)}."
            )
        class_names = tuple(
            str(network.config.id2label[n]) for n in range(network.config.num_labels)
        )
        kind = network.config.problem_type
        if len(class_names) < 2 or kind not in (None, "single_label_classification"):
            what = "one number" if len(class_names) < 2 else kind.replace("_", " ")
            raise UsageError(
                f"{model} gives {what} for each text, and does not choose one of several "
                "classes; give a classifier that does."
            )
        if names is not None and len(set(names)) != len(class_names):
            raise UsageError(
                f"{model} has {len(class_names)} classes, and {len(set(names))} are named; name "
                "each of them once."
            )
        return cls(task, class_names if names is None else tuple(names))

    def number(self, label: str | None, place: str) -> int:
        """Return the number of the class that a corpus calls `label`: its name, or a number from 0.

        Args:
            label: Label as the corpus writes it.
            place: File and line, for the message.

        Raises:
            CorpusError: there is no label, or it is none of the classes.
        """
        if label is None:
            raise CorpusError(f"{place}: there is no label; give one, or leave the line out.")
        if label in self.names:
            return self.names.index(label)
        if label.isdecimal() and int(label) < len(self.names):
            return int(label)
        names = ", ".join(self.names)
        cure = f"name the classes in their order with {setting('class_names=')}"
        unnamed = any(name.startswith(UNNAMED) for name in self.names)
        cure = cure if unnamed else f"correct it, or {cure} as the corpus calls them"
        raise CorpusError(
            f"{place}: the label {label!r} is none of the classes of the model ({names}), nor a "
            f"number from 0 to {len(self.names) - 1}; {cure}."
        )
