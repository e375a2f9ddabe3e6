"""Labelled texts as classifiers read them: words as numbers, vectors, and padded batches."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from headlight.corpora import WordVectors, read_word_vectors, source_state
from headlight.vocabulary import Part
from headlight_papers.papers.labelled_sets import (
    LabelledSet,
    LabelledText,
    read_labelled,
    task_of,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.text_classifier import TextBatch

BATCH = 32
"""Texts in a batch, of nearly the same length."""
PADDING = 0
UNKNOWN = 1
NO_WORDS = ("", "[unknown]")
"""What the first two entries of a vocabulary are called."""
LARGEST = "largest weight"
"""The column of `by_largest`."""
EDGES = (0.25, 0.5, 0.75, 1.0)
"""Up to which it goes in each column of Jain and Wallace (2019), Figures 6 to 9."""


@dataclass(frozen=True, eq=False)
class TextData:
    """Everything that classifiers of texts learn from, and are tried on.

    Attributes:
        title: of the set.
        classes: names of the two classes.
        vocabulary: all words that have a vector of their own; first padding and unknown words.
        vectors: those that training begins with, zeros for words without one; None where no file of
            vectors was given.
        train: batches that are learnt from, as all sorted by the length of texts.
        dev: batches on which the best epoch is chosen.
        test: batches on which models are tried.
    """

    title: str
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    vectors: Float32[Tensor, "word dimension"] | None
    train: list[TextBatch]
    dev: list[TextBatch]
    test: list[TextBatch]

    @property
    def parts(self) -> dict[Part, list[TextBatch]]:
        """All batches, by part."""
        return {"train": self.train, "dev": self.dev, "test": self.test}

    def count(self, part: Part) -> int:
        """Return the number of texts."""
        return sum(len(batch.words) for batch in self.parts[part])

    def labels(self, part: Part) -> Int64[Tensor, " text"]:
        """The classes of all texts, batch by batch."""
        return torch.cat([batch.labels for batch in self.parts[part]])

    def lengths(self, part: Part) -> Int64[Tensor, " text"]:
        """The words of all texts, batch by batch."""
        return torch.cat([batch.real.sum(-1) for batch in self.parts[part]])


def open_data(reproduction: Reproduction, source: str) -> TextData:
    """A set of labelled texts, read as the settings of a reproduction say.

    Args:
        reproduction: of which paper it is.
        source: one of `Sources.labelled`.

    Raises:
        CorpusError: it cannot be read, or has not two classes, or too few texts.
    """
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    texts = read_labelled(
        source, settings.seed, max_texts=settings.max_texts, max_words=settings.max_words
    )
    given = read_word_vectors(vectors) if vectors else None
    return prepare_data(texts, given, frequency=task_of(source).frequency)


def data_key(reproduction: Reproduction, source: str) -> dict[str, Any]:
    """Return the dependencies of the data, as JSON, for the signature of a result."""
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    return {
        "texts": source_state(source),
        "vectors": source_state(vectors) if vectors else None,
        "seed": settings.seed,
        "max_texts": settings.max_texts,
        "max_words": settings.max_words,
    }


def prepare_data(
    texts: LabelledSet, vectors: WordVectors | None = None, *, frequency: int = 1
) -> TextData:
    """Number the words, and make batches.

    Args:
        texts: split.
        vectors: of words in small letters.
        frequency: training texts in which a word has to be to have a vector of its own.
    """
    seen = Counter(word for text in texts.parts["train"] for word in set(text.words))
    often = sorted(word for word, count in seen.items() if count >= frequency)
    vocabulary = (*NO_WORDS, *often)
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return TextData(
        texts.title,
        texts.classes,
        vocabulary,
        None if vectors is None else _known_vectors(vocabulary, vectors),
        **{part: list(_batches(some, numbers)) for part, some in texts.parts.items()},
    )


def _known_vectors(
    vocabulary: Sequence[str], vectors: WordVectors
) -> Float32[Tensor, "word dimension"]:
    found = vectors.lookup(vocabulary)
    matrix = np.where(found[:, None] >= 0, vectors.matrix[found], 0)
    return torch.from_numpy(matrix.astype(np.float32))


def _batches(texts: Sequence[LabelledText], numbers: dict[str, int]) -> Iterator[TextBatch]:
    order = sorted(range(len(texts)), key=lambda at: len(texts[at].words))
    for first in range(0, len(order), BATCH):
        chosen = order[first : first + BATCH]
        lengths = torch.tensor([len(texts[at].words) for at in chosen])
        words = torch.full((len(chosen), int(lengths.max())), PADDING)
        for row, at in enumerate(chosen):
            found = [numbers.get(word, UNKNOWN) for word in texts[at].words]
            words[row, : len(found)] = torch.tensor(found)
        real = torch.arange(words.shape[1]) < lengths[:, None]
        labels = torch.tensor([texts[at].label for at in chosen])
        yield TextBatch(words, real, labels, torch.tensor(chosen))


def drawn_from(
    batches: list[TextBatch], count: int, seed: int, size: int = BATCH
) -> list[TextBatch]:
    """This many texts of all batches at most, drawn, in batches of nearly the same length."""
    texts = [(batch, row) for batch in batches for row in range(len(batch.words))]
    drawn = np.random.default_rng(seed).permutation(len(texts))[:count]
    kept = [texts[at] for at in sorted(drawn.tolist())]  # which is by their length
    return [_together(kept[first : first + size]) for first in range(0, len(kept), size)]


def _together(texts: list[tuple[TextBatch, int]]) -> TextBatch:
    """Texts of several batches as one."""
    lengths = torch.stack([batch.real[row].sum() for batch, row in texts])
    longest = int(lengths.max())
    words = torch.full((len(texts), longest), PADDING)
    for place, (batch, row) in enumerate(texts):
        words[place, : lengths[place]] = batch.words[row, : lengths[place]]
    return TextBatch(
        words,
        torch.arange(longest) < lengths[:, None],
        torch.stack([batch.labels[row] for batch, row in texts]),
        torch.stack([batch.numbers[row] for batch, row in texts]),
    )


def by_largest(weights: Float[np.ndarray, " text"]) -> "pandas.Categorical[str]":
    """The label of each text, ``≤ 0.5``, in the order of the weights."""
    labels = np.array([f"≤ {edge:g}" for edge in EDGES])
    place = np.digitize(weights, EDGES[:-1], right=True)
    return pandas.Categorical(labels[place].tolist(), labels.tolist(), ordered=True)
