"""Sentences that the tagger reads: words and tags as numbers, in batches."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from headlight.corpora import TaggedSentence
from headlight.vocabulary import PARTS, Part
from headlight_papers.training.model_outputs import ValidMask
from headlight_words.corpora import WordVectors

BATCH = 32
"""Sentences in a batch, of nearly the same length; the released code has 100."""
SUFFIXES = (1, 2, 3, 4)
"""Lengths of the ends of words that have vectors of their own."""
ENOUGH = 2
"""Words and suffixes that training has less often share one vector."""
UNKNOWN = 0


@dataclass(frozen=True, eq=False)
class TagBatch:
    """Sentences of nearly the same length.

    Attributes:
        words: Word types.
        tags: Gold tags.
        real: Mask of the words, False for padding.
    """

    words: Int64[Tensor, "sentence word"]
    tags: Int64[Tensor, "sentence word"]
    real: Bool[Tensor, "sentence word"]

    @property
    def labels(self) -> Int64[Tensor, "sentence word"]:
        """Return the gold tags."""
        return self.tags

    @property
    def valid(self) -> ValidMask:
        """Return the mask of all words, as predictions, rows and keys."""
        return ValidMask(self.real, self.real, self.real)

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class WordTypes:
    """Features of every word type, of all parts; they are looked up and never trained.

    Attributes:
        rows: Numbers of trained vectors; `UNKNOWN` for types that are rare in training.
        suffixes: Numbers of trained vectors of suffixes, by length of the suffix (`SUFFIXES`).
        vectors: Pretrained vectors; zeros where there is none.
    """

    rows: Int64[Tensor, " type"]
    suffixes: Int64[Tensor, "type suffix"]
    vectors: Float32[Tensor, "type dimension"]


@dataclass(frozen=True, eq=False)
class TaggingData:
    """Everything that taggers are trained and tested on.

    Attributes:
        tags: Names of the tags.
        types: See `WordTypes`.
        parts: Batches by part.
    """

    tags: tuple[str, ...]
    types: WordTypes
    parts: dict[Part, list[TagBatch]]

    @property
    def longest(self) -> int:
        """Return the number of words in the longest sentence."""
        return max(batch.words.shape[1] for part in self.parts.values() for batch in part)

    def sentences(self, part: Part) -> int:
        """Return the number of sentences."""
        return sum(len(batch.words) for batch in self.parts[part])

    @property
    def row_length(self) -> float:
        """Return the mean, over training words, of the number of words in their sentence."""
        # Weighted by words, as a mean over rows weighs sentences.
        lengths = torch.cat([batch.real.sum(-1) for batch in self.parts["train"]]).double()
        return float(lengths.square().sum() / lengths.sum())

    def tag_names(self, batch: TagBatch, tags: Int64[Tensor, "sentence word"]) -> list[list[str]]:
        """Return the tags of real words, by name."""
        return [
            [self.tags[tag] for tag in row[:length]]
            for row, length in zip(tags.tolist(), batch.real.sum(-1).tolist(), strict=True)
        ]


def split(sentences: Sequence[TaggedSentence], seed: int) -> dict[Part, list[TaggedSentence]]:
    """Split sentences: four fifths to train, a tenth each for development and test, at random."""
    order = np.random.default_rng(seed).permutation(len(sentences))
    tenth = max(1, len(sentences) // 10)
    # Parts keep the order of the file, which batches of one length are made of.
    places = {"dev": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}
    return {part: [sentences[at] for at in sorted(places[part])] for part in PARTS}


def prepare_data(
    sentences: Sequence[TaggedSentence], vectors: WordVectors | None, seed: int = 0
) -> TaggingData:
    """Split sentences, number words and tags, and make batches.

    Args:
        sentences: Sentences with a tag for each word.
        vectors: Pretrained vectors of words in lower case, if any.
        seed: Seed of the split.
    """
    parts = split(sentences, seed)
    # Tags of all parts are numbered, since one may not occur in training.
    tags = tuple(sorted({tag for sentence in sentences for tag in sentence.tags}))
    types: dict[str, int] = {}
    for part in PARTS:
        for sentence in parts[part]:
            for word in sentence.words:
                types.setdefault(normal(word), len(types))
    numbers = {tag: number for number, tag in enumerate(tags)}
    return TaggingData(
        tags,
        _word_types(list(types), parts["train"], vectors),
        {part: list(_batches(parts[part], types, numbers)) for part in PARTS},
    )


def normal(word: str) -> str:
    """Return a word in lower case; digits alone are ``0``, as in the released code."""
    return "0" if word.isdigit() else word.lower()


def _word_types(
    types: list[str], train: list[TaggedSentence], vectors: WordVectors | None
) -> WordTypes:
    word_counts = Counter(normal(word) for sentence in train for word in sentence.words)
    ends: Counter[str] = Counter()
    for word, count in word_counts.items():
        for length in SUFFIXES:
            ends[_end(word, length)] += count
    rows, end_rows = _frequent(word_counts), _frequent(ends)
    suffixes = [[end_rows.get(_end(word, n), UNKNOWN) for n in SUFFIXES] for word in types]
    return WordTypes(
        torch.tensor([rows.get(word, UNKNOWN) for word in types]),
        torch.tensor(suffixes),
        torch.zeros(len(types), 0) if vectors is None else torch.from_numpy(vectors.rows(types)),
    )


def _end(word: str, length: int) -> str:
    # The length stands before the letters, since a word may be shorter than the ending.
    return f"{length}{word[-length:]}"


def _frequent(counts: Counter[str]) -> dict[str, int]:
    # Sorted by name, so that numbers do not depend on the order of counting.
    often = sorted(entry for entry, count in counts.items() if count >= ENOUGH)
    return {entry: number for number, entry in enumerate(often, start=UNKNOWN + 1)}


def _batches(
    sentences: list[TaggedSentence], types: dict[str, int], tags: dict[str, int]
) -> Iterator[TagBatch]:
    # The last sentence of a batch is its longest, and gives its width.
    ordered = sorted(sentences, key=lambda sentence: len(sentence.words))
    for first in range(0, len(ordered), BATCH):
        some = ordered[first : first + BATCH]
        shape = (len(some), len(some[-1].words))
        words, codes = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.int64)
        for row, sentence in enumerate(some):
            length = len(sentence.words)
            words[row, :length] = torch.tensor([types[normal(word)] for word in sentence.words])
            codes[row, :length] = torch.tensor([tags[tag] for tag in sentence.tags])
        lengths = torch.tensor([len(sentence.words) for sentence in some])
        yield TagBatch(words, codes, torch.arange(shape[1]) < lengths[:, None])
