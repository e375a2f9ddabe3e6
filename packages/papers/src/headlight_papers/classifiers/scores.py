"""Scores of classifiers: accuracy, that of a constant, and F1."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from headlight.observations.variables import Variable, long_names

MAJORITY = "majority_accuracy"
"""Accuracy of always predicting the most frequent class."""

SCORES = long_names(
    {
        "own_accuracy": Variable("share of correct predictions", interval="share"),
        MAJORITY: Variable("share of correct predictions if all were of the most frequent class"),
    }
)


def class_shares(
    labels: Sequence[Sequence[int]], classes: int
) -> Float64[np.ndarray, "text class"]:
    """Return the share of each class among the labels of each text."""
    shares: Float64[np.ndarray, "text class"] = np.array(
        [
            np.bincount(labels_of_text, minlength=classes) / len(labels_of_text)
            for labels_of_text in labels
        ]
    )
    return shares


def majority_accuracy(labels: Sequence[Sequence[int]], classes: int) -> float:
    """Return the accuracy of always predicting the most frequent class."""
    return float(class_shares(labels, classes).mean(0).max())


def derived_slots(
    slots: Mapping[str, Float64[np.ndarray, "..."]],
    function: Callable[[Float64[np.ndarray, "sample cell"]], Float64[np.ndarray, " sample"]],
) -> dict[str, np.ndarray]:
    """Return a function of several means, of all texts and without each slot.

    Args:
        slots: Result of `headlight.reduce.Slots` for cells along one axis.
        function: Function from the means of several corpora to one number for each corpus.
    """
    mean, *without = function(np.concatenate([slots["mean"][None], slots["without"]]))
    rest = {"whole": slots["whole"][:, 0], "units": slots["units"]}
    return {"mean": np.asarray(mean), "without": np.array(without), **rest}


def macro_f1(counts: Float64[np.ndarray, "sample cell"]) -> Float64[np.ndarray, " sample"]:
    """Average F1 over classes, from the counts of predicted by gold classes.

    Classes that neither occur nor are predicted do not count.
    """
    side = round(counts.shape[-1] ** 0.5)
    table = counts.reshape(-1, side, side)
    right = np.diagonal(table, axis1=1, axis2=2)
    whole = table.sum(1) + table.sum(2)
    occurs = whole > 0
    f1 = 2 * right / np.where(occurs, whole, 1)
    mean_f1: Float64[np.ndarray, " sample"] = f1.sum(-1) / np.maximum(occurs.sum(-1), 1)
    return mean_f1


def span_f1(counts: Float64[np.ndarray, "sample count"]) -> Float64[np.ndarray, " sample"]:
    """Compute F1 from the counts of correct, predicted and gold spans; NaN without any."""
    whole = counts[:, 1] + counts[:, 2]
    f1: Float64[np.ndarray, " sample"] = 2 * counts[:, 0] / np.where(whole > 0, whole, np.nan)
    return f1
