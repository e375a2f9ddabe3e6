"""The result of a study of guided models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64, Int64

from headlight.analysis.classifiers.scores import macro_f1, majority_accuracy, span_f1
from headlight.reduce.bootstrap import resampled
from headlight.reduce.intervals import with_interval
from headlight.reduce.spans import span_score
from headlight.result import describe
from headlight.studies.guided.settings import GuidedSettings

MEANINGS = {
    "accuracy": ("share of correct predictions", "1"),
    "f1": ("F1, mean over classes; of tags of spans that of spans, strict IOB2", "1"),
    "nll": ("negative log-likelihood of the gold labels", "nats"),
}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip

VARIABLES = {
    **{
        f"{prefix}{name}{bound}": (f"{said}{meaning}, {whose}", unit)
        for prefix, whose in (("", "mean over seeds"), ("own_", "of the model itself"))
        for name, (meaning, unit) in MEANINGS.items()
        for bound, said in _BOUNDS.items()
    },
    **{
        f"seed_{name}": (f"{meaning}, of one seed", unit)
        for name, (meaning, unit) in MEANINGS.items()
    },
    "majority_accuracy": (
        "share of correct predictions if all were of the most frequent class",
        "1",
    ),
    "loss": ("mean loss of an epoch of training", "nats"),
}
"""Long name and unit of every variable."""

Probabilities = Float64[np.ndarray, "text label"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures predictions for the held-out texts, or the words of the held-out sentences.

    Attributes:
        labels: gold classes.
        text_ids: a number of its own for each text, from which it is resampled; words of a sentence
            follow each other and share one.
        settings: see `GuidedSettings`.
        guides: where attention comes from, by name.
        tags: names of the classes, if they are tags of words.
    """

    labels: Int64[np.ndarray, " label"]
    text_ids: Int64[np.ndarray, " label"]
    settings: GuidedSettings
    guides: tuple[str, ...]
    tags: tuple[str, ...] = ()

    @cached_property
    def _starts(self) -> Int64[np.ndarray, " text"]:
        """Where each text begins."""
        return np.flatnonzero(np.diff(self.text_ids, prepend=-1))

    @cached_property
    def _samples(self) -> Float64[np.ndarray, "text sample"]:
        settings = self.settings
        taken = resampled(self.text_ids[self._starts], settings.bootstrap, settings.seed)
        return taken.astype(np.float64)

    def numbers(self, probability: Probabilities) -> dict[str, Float64[np.ndarray, " sample"]]:
        """Of the texts as they are, and of every resample."""
        samples, predictions = self._samples, probability.argmax(-1)
        number = probability.shape[-1]
        right = (predictions == self.labels).astype(np.float64)
        lost = -np.log(np.maximum(probability[np.arange(len(right)), self.labels], 1e-300))
        whole = np.maximum(self._sums(np.ones(len(right))) @ samples, 1)
        if any(tag.startswith("B-") for tag in self.tags):
            f1 = span_f1(samples.T @ self._spans(predictions))
        else:
            cells = np.eye(number**2)[self.labels * number + predictions]
            f1 = macro_f1(samples.T @ self._sums(cells))
        return {
            "accuracy": self._sums(right) @ samples / whole,
            "f1": f1,
            "nll": self._sums(lost) @ samples / whole,
        }

    def _sums(
        self, values: Float64[np.ndarray, "label *cell"]
    ) -> Float64[np.ndarray, "text *cell"]:
        found: Float64[np.ndarray, "text *cell"] = np.add.reduceat(values, self._starts)
        return found

    def _spans(self, predictions: Int64[np.ndarray, " label"]) -> Float64[np.ndarray, "text count"]:
        """Spans that are correct, found, and there, by sentence."""
        rows = []
        parts = (np.split(each, self._starts[1:]) for each in (self.labels, predictions))
        for sentence in zip(*parts, strict=True):
            gold, found = ([self.tags[tag] for tag in tags] for tags in sentence)
            score = span_score([gold], [found])
            rows.append([score.correct, score.found, score.gold])
        return np.array(rows, dtype=np.float64)


def dataset(
    found: Sequence[Sequence[tuple[Probabilities, Sequence[float]]]],
    own: Probabilities,
    evaluation: Evaluation,
) -> xarray.Dataset:
    """Named arrays of all models.

    Args:
        found: by guide and seed, the predictions and the losses of the epochs.
        own: the predictions of the model itself.
        evaluation: see `Evaluation`.
    """
    values = [[evaluation.numbers(probability) for probability, _ in seeds] for seeds in found]
    itself = evaluation.numbers(own)
    variables: dict[str, Any] = {}
    for name in MEANINGS:
        cells = np.array([[each[name] for each in seeds] for seeds in values])
        means = np.stack([with_interval(each) for each in cells.mean(1)])
        for at, bound in enumerate(_BOUNDS):
            variables[f"{name}{bound}"] = ("guide", means[:, at])
            variables[f"own_{name}{bound}"] = ((), with_interval(itself[name])[at])
        variables[f"seed_{name}"] = (("guide", "seed"), cells[:, :, 0])
    labels = evaluation.labels[:, None].tolist()
    variables["majority_accuracy"] = ((), majority_accuracy(labels, own.shape[-1]))
    variables["loss"] = (
        ("guide", "seed", "epoch"),
        np.array([[losses for _, losses in seeds] for seeds in found]),
    )
    settings = evaluation.settings
    made = xarray.Dataset(
        {name: variables[name] for name in VARIABLES},
        coords={
            "guide": list(evaluation.guides),
            "seed": list(range(settings.repeats)),
            "epoch": list(range(1, settings.epochs + 1)),
        },
    )
    return describe(made, VARIABLES)
