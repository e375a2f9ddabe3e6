"""Texts of a set as small classifiers read them: words as numbers, in batches."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from headlight.corpora import source_state
from headlight.vocabulary import Part
from headlight_papers.papers.labelled_sets import LabelledSet, LabelledText, read_labelled
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.text_classifier import TextBatch
from headlight_words.corpora import WordVectors, read_word_vectors

BATCH = 32
"""Texts in a batch, of nearly the same length."""
PADDING = 0
UNKNOWN = 1
NO_WORDS = ("", "[unknown]")
"""Names of the first two entries of a vocabulary."""


@dataclass(frozen=True, eq=False)
class TextData:
    """Everything that classifiers of texts are trained and tested on.

    Attributes:
        title: Title of the set.
        classes: Names of the two classes.
        vocabulary: All words that have a vector of their own; first padding and unknown words.
        vectors: Initial word vectors, zeros for words without one; None where no file was given.
        parts: Batches by part, sorted by the length of texts.
    """

    title: str
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    vectors: Float32[Tensor, "word dimension"] | None
    parts: dict[Part, list[TextBatch]]

    def count(self, part: Part) -> int:
        """Return the number of texts."""
        return sum(len(batch.words) for batch in self.parts[part])

    def labels(self, part: Part) -> Int64[Tensor, " text"]:
        """Return the classes of all texts, batch by batch."""
        return torch.cat([batch.labels for batch in self.parts[part]])

    def lengths(self, part: Part) -> Int64[Tensor, " text"]:
        """Return the numbers of words of all texts, batch by batch."""
        return torch.cat([batch.real.sum(-1) for batch in self.parts[part]])


def open_data(reproduction: Reproduction, source: str) -> TextData:
    """Read a set of labelled texts as the settings of a reproduction say.

    Args:
        reproduction: Reproduction whose settings and word vectors are used.
        source: Labelled set, one of `Sources.labelled`.

    Raises:
        CorpusError: The set cannot be read, does not have two classes, or has too few texts.
    """
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    texts = read_labelled(
        source, settings.seed, max_texts=settings.max_texts, max_words=settings.max_words
    )
    return prepare_data(texts, read_word_vectors(vectors) if vectors else None)


def data_key(reproduction: Reproduction, source: str) -> dict[str, Any]:
    """Return the dependencies of the data, as JSON, for the signature of a result."""
    settings, vectors = reproduction.settings, reproduction.sources.word_vectors
    return {
        "texts": source_state(source),
        "vectors": source_state(vectors) if vectors else None,
        "max_texts": settings.max_texts,
        "max_words": settings.max_words,
    }


def prepare_data(texts: LabelledSet, vectors: WordVectors | None = None) -> TextData:
    """Number the words, and make batches; vectors are of words in lower case."""
    document_counts = Counter(word for text in texts.parts["train"] for word in set(text.words))
    often = sorted(word for word, count in document_counts.items() if count >= texts.frequency)
    vocabulary = (*NO_WORDS, *often)
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return TextData(
        texts.title,
        texts.classes,
        vocabulary,
        None if vectors is None else torch.from_numpy(vectors.rows(vocabulary)),
        {part: _batches(some, numbers) for part, some in texts.parts.items()},
    )


def _batches(texts: Sequence[LabelledText], numbers: dict[str, int]) -> list[TextBatch]:
    rows = [
        (torch.tensor([numbers.get(word, UNKNOWN) for word in text.words]), text.label, number)
        for number, text in enumerate(texts)
    ]
    # Texts of like lengths make batches with little padding; batches are shuffled, not texts.
    return _make_batches(sorted(rows, key=lambda row: len(row[0])), BATCH)


def _make_batches(texts: Sequence[tuple[Tensor, int, int]], size: int) -> list[TextBatch]:
    """Make batches of texts from their words, class and number."""
    batches = []
    for first in range(0, len(texts), size):
        rows, labels, numbers = zip(*texts[first : first + size], strict=True)
        words = pad_sequence(list(rows), batch_first=True, padding_value=PADDING)
        real = torch.arange(words.shape[1]) < torch.tensor(list(map(len, rows)))[:, None]
        batches.append(TextBatch(words, real, torch.tensor(labels), torch.tensor(numbers)))
    return batches


def drawn_from(
    batches: list[TextBatch], count: int, seed: int, size: int = BATCH
) -> list[TextBatch]:
    """Draw at most this many texts of all batches, in batches of nearly the same length."""
    texts = [
        (words[real], int(label), int(number))
        for batch in batches
        for words, real, label, number in zip(
            batch.words, batch.real, batch.labels, batch.numbers, strict=True
        )
    ]
    drawn = np.random.default_rng(seed).permutation(len(texts))[:count]
    return _make_batches([texts[at] for at in sorted(drawn.tolist())], size)  # still by length
