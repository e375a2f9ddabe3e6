"""Sentences of a corpus in which the best heads do what they are best at, for the report."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import xarray
from jaxtyping import Bool, Int64

from headlight.encode import Encoded
from headlight.result import describe
from headlight.vocabulary import Kind

LONGEST = 20
"""Words of a sentence that is shown."""

NAMES = ("sentence_word", "sentence_found", "sentence_right")
"""Of the variables: the words, what is predicted for each, and whether that is right."""


_RANKS = 2**40


def rank_of(example: Encoded, kind: Kind) -> float:
    """Return the rank by which one of two equal examples is kept: shorter first, then by hash.

    It depends on the tokens alone that attention of this kind sees, and so examples can be found
    again by it.
    """
    seen = len(example.ids) + 1 + (0 if kind == "encoder" else len(example.target))
    return float(min(seen, 8000) * _RANKS) + hash_of(example, kind)


def hash_of(example: Encoded, kind: Kind) -> float:
    """A whole number that is as good as drawn at random, of the tokens that this kind sees."""
    ids = (*example.ids, -1, *(() if kind == "encoder" else example.target))
    digest = blake2b(np.array(ids, dtype=np.int64).tobytes(), digest_size=5).digest()
    return float(int.from_bytes(digest))


class Shown(NamedTuple):
    """Prediction of a head in a sentence; better ones are larger.

    Attributes:
        balance: Words asked about that are right, less those that are wrong.
        shortness: Of sentences that are as good, the shorter one is shown.
        words: Of the sentence.
        found: The place of the word that is predicted for each word, NaN where the word is not
            asked about.
        right: Whether it is right, 0 or 1; NaN likewise.
    """

    balance: int
    shortness: int
    words: tuple[str, ...]
    found: tuple[float, ...]
    right: tuple[float, ...]

    @classmethod
    def of(
        cls,
        words: tuple[str, ...],
        asked: Bool[np.ndarray, " word"],
        found: Int64[np.ndarray, " word"],
        right: Bool[np.ndarray, " word"],
    ) -> "Shown":
        """A whole sentence, of which some words are asked about."""
        return cls(
            int(right[asked].sum() - (~right[asked]).sum()),
            -len(words),
            words,
            tuple(np.where(asked, found, np.nan).tolist()),
            tuple(np.where(asked, right, np.nan).tolist()),
        )

    def better_than(self, other: "Shown | None") -> bool:
        """Whether it is to be shown in the other's place; what is mostly wrong never is."""
        return self.balance > 0 and (other is None or self[:2] > other[:2])


def sentences_dataset(
    kept: Mapping[tuple[str, str], Shown],
    result: xarray.Dataset,
    asked: str,
    described: Mapping[str, tuple[str, str]],
) -> xarray.Dataset:
    """The variables of the sentences; empty words where there is none.

    Args:
        kept: By measure and label of what is asked.
        result: Of the study, without them.
        asked: Its dimension that says what is asked.
        described: Long name and unit of each of `NAMES`.
    """
    dims = ("measure", asked, "place")
    labels = [list(map(str, result[name].values)) for name in dims[:2]]
    shape = (*map(len, labels), LONGEST)
    words = np.full(shape, "", dtype=object)
    found, right = np.full(shape, np.nan), np.full(shape, np.nan)
    for (measure, label), shown in kept.items():
        row = labels[0].index(measure), labels[1].index(label)
        words[row][: len(shown.words)] = shown.words
        found[row][: len(shown.words)] = shown.found
        right[row][: len(shown.words)] = shown.right
    arrays = dict(zip(NAMES, (words, found, right), strict=True))
    variables = {name: (dims, values) for name, values in arrays.items()}
    coordinates = {name: result[name] for name in dims[:2]}
    return describe(xarray.Dataset(variables, coords=coordinates), described)
