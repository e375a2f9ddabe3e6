"""Example sentences of a result: those in which a head predicts most of the evaluated words."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray
from jaxtyping import Bool, Int64

from headlight.result import describe

LONGEST = 20
"""Largest number of words of a sentence that is shown."""

NAMES = ("sentence_word", "sentence_found", "sentence_right")
"""Names of the variables: the words, the prediction for each, and whether that is right."""


class Shown(NamedTuple):
    """Prediction of a head in a sentence; better ones are larger.

    Attributes:
        balance: Number of evaluated words that are right, less those that are wrong.
        shortness: Negative number of words, so that of equally good sentences the shorter is shown.
        words: Words of the sentence.
        predicted: Place of the word that is predicted for each word; NaN where the word is not
            evaluated.
        right: Whether the prediction is right, 0 or 1; NaN likewise.
    """

    balance: int
    shortness: int
    words: tuple[str, ...]
    predicted: tuple[float, ...]
    right: tuple[float, ...]

    @classmethod
    def from_prediction(
        cls,
        words: tuple[str, ...],
        questions: Bool[np.ndarray, " word"],
        picked: Int64[np.ndarray, " word"],
        right: Bool[np.ndarray, " word"],
    ) -> "Shown":
        """Return the prediction for a whole sentence, of which `questions` are evaluated."""
        return cls(
            int(right[questions].sum() - (~right[questions]).sum()),
            -len(words),
            words,
            tuple(np.where(questions, picked, np.nan).tolist()),
            tuple(np.where(questions, right, np.nan).tolist()),
        )

    def better_than(self, other: "Shown | None") -> bool:
        """Whether it is to be shown in the other's place; a mostly wrong prediction never is."""
        return self.balance > 0 and (other is None or self[:2] > other[:2])


def sentences_dataset(
    best: Mapping[tuple[str, str], Shown],
    result: xarray.Dataset,
    dim: str,
    described: Mapping[str, tuple[str, str]],
) -> xarray.Dataset:
    """Return the variables of the sentences; empty words where there is no sentence.

    Args:
        best: Best predictions, by measure and by label along `dim`.
        result: Result of the study, without the sentences.
        dim: Dimension of the result along which the best heads are chosen.
        described: Long name and unit of each of `NAMES`.
    """
    dims = ("measure", dim, "place")
    labels = [list(map(str, result[name].values)) for name in dims[:2]]
    shape = (*map(len, labels), LONGEST)
    words = np.full(shape, "", dtype=object)
    picked, right = np.full(shape, np.nan), np.full(shape, np.nan)
    for (measure, label), stretch in best.items():
        row = labels[0].index(measure), labels[1].index(label)
        words[row][: len(stretch.words)] = stretch.words
        picked[row][: len(stretch.words)] = stretch.predicted
        right[row][: len(stretch.words)] = stretch.right
    arrays = dict(zip(NAMES, (words, picked, right), strict=True))
    variables = {name: (dims, values) for name, values in arrays.items()}
    coordinates = {name: result[name] for name in dims[:2]}
    return describe(xarray.Dataset(variables, coords=coordinates), described)
