"""Tagger of the paper, one Transformer layer of four heads, and the sentences that it reads."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from headlight.corpora import TaggedSentence, WordVectors
from headlight.vocabulary import PARTS, Part
from headlight_papers.training.text_classifier import (
    Attention,
    AttentionModel,
    Logits,
    ValidMask,
    timing_signal,
)

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
        words: word types.
        tags: gold tags.
        real: what is no padding.
    """

    words: Int64[Tensor, "sentence word"]
    tags: Int64[Tensor, "sentence word"]
    real: Bool[Tensor, "sentence word"]

    @property
    def labels(self) -> Int64[Tensor, "sentence word"]:
        """The gold tags."""
        return self.tags

    @property
    def valid(self) -> ValidMask:
        """All words, as predictions, rows and keys."""
        return ValidMask(self.real, self.real, self.real)

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class WordTypes:
    """Features of every word type, of all parts; they are looked up and never trained.

    Attributes:
        rows: the number of its trained vector; `UNKNOWN` for those that are rare in training.
        suffixes: the same for its last letters, by their number (`SUFFIXES`).
        vectors: pretrained vectors; zeros where there is none.
    """

    rows: Int64[Tensor, " type"]
    suffixes: Int64[Tensor, "type suffix"]
    vectors: Float32[Tensor, "type dimension"]


@dataclass(frozen=True, eq=False)
class TaggingData:
    """Everything that a tagger learns from, and is tried on.

    Attributes:
        tags: names of the tags.
        types: see `WordTypes`.
        parts: batches by part.
    """

    tags: tuple[str, ...]
    types: WordTypes
    parts: dict[Part, list[TagBatch]]

    @property
    def longest(self) -> int:
        """Words in the longest sentence."""
        return max(batch.words.shape[1] for part in self.parts.values() for batch in part)

    def sentences(self, part: Part) -> int:
        """Return the number of sentences."""
        return sum(len(batch.words) for batch in self.parts[part])

    @property
    def row_length(self) -> float:
        """Words in the sentence of a word of the training part, on average."""
        lengths = torch.cat([batch.real.sum(-1) for batch in self.parts["train"]]).double()
        return float(lengths.square().sum() / lengths.sum())

    def tag_names(self, batch: TagBatch, tags: Int64[Tensor, "sentence word"]) -> list[list[str]]:
        """Tags of real words, by name."""
        return [
            [self.tags[tag] for tag in row[:length]]
            for row, length in zip(tags.tolist(), batch.real.sum(-1).tolist(), strict=True)
        ]


def split(sentences: Sequence[TaggedSentence], seed: int) -> dict[Part, list[TaggedSentence]]:
    """Four fifths to train, a tenth each for development and test, drawn by sentence."""
    order = np.random.default_rng(seed).permutation(len(sentences))
    tenth = max(1, len(sentences) // 10)
    places = {"dev": order[:tenth], "test": order[tenth : 2 * tenth], "train": order[2 * tenth :]}
    return {part: [sentences[at] for at in sorted(places[part])] for part in PARTS}


def prepare_data(
    sentences: Sequence[TaggedSentence], vectors: WordVectors | None, seed: int = 0
) -> TaggingData:
    """Split sentences, number words and tags, and make batches.

    Args:
        sentences: with a tag for each word.
        vectors: pretrained vectors of words in small letters; None for none.
        seed: of the split.
    """
    parts = split(sentences, seed)
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
    """In small letters; digits alone are ``0``, as in the released code."""
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
    """The last letters, with how many they are, since a word may be shorter."""
    return f"{length}{word[-length:]}"


def _frequent(counts: Counter[str]) -> dict[str, int]:
    often = sorted(each for each, count in counts.items() if count >= ENOUGH)
    return {each: number for number, each in enumerate(often, start=UNKNOWN + 1)}


def _batches(
    sentences: list[TaggedSentence], types: dict[str, int], tags: dict[str, int]
) -> Iterator[TagBatch]:
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


HEADS = 4
WIDTH = 128
DROPOUT = 0.2
WORD, SUFFIX = 32, 32
"""Lengths of the trained vectors of words and of suffixes; the latter are summed."""
SMALL = 0.2
"""The standard deviation of these at first: with 1, positions are hard to see beside words."""


class Dropout(nn.Module):
    """Dropout, of which one random number of 64 bits decides about eight entries on a CPU.

    There the random numbers of torch's own dropout took 30% of the training.

    Args:
        share: of entries that become 0 in training; on a CPU the nearest multiple of 1/256.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self._out_of_256 = round(256 * share)

    def forward(self, state: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The state, in training some of it 0 and the rest larger by as much."""
        if not self.training or not self.share:
            return state
        if state.device.type != "cpu":
            return nn.functional.dropout(state, self.share)
        draws = torch.empty(-(-state.numel() // 8), dtype=torch.int64).random_(-(2**63), None)
        drawn = draws.view(torch.uint8)[: state.numel()].view(state.shape)
        return state * ((drawn >= self._out_of_256) * (256 / (256 - self._out_of_256)))


class Tagger(AttentionModel[TagBatch]):
    """Words to logits of tags, in one layer with normalisation before each part.

    As the paper's: dropout on the input, a linear map without bias to the width, a timing signal,
    attention without biases, whose weights and whose sum with the input are dropped out, two linear
    maps with ReLU behind each, and a last normalisation.  Other than there, padding is no key.

    Args:
        types: what is known of word types.
        tags: how many tags there are.
        longest: words in the longest sentence.
        dropout: share of what is left out in training, everywhere.
    """

    rows: Tensor
    ends: Tensor
    vectors: Tensor
    timing: Tensor

    def __init__(self, types: WordTypes, tags: int, longest: int, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.register_buffer("rows", types.rows, persistent=False)
        self.register_buffer("ends", types.suffixes, persistent=False)
        self.register_buffer("vectors", types.vectors, persistent=False)
        self.register_buffer("timing", timing_signal(longest, WIDTH), persistent=False)
        self.words = nn.Embedding(int(types.rows.max()) + 1, WORD)
        self.suffixes = nn.Embedding(int(types.suffixes.max()) + 1, SUFFIX)
        self.input = nn.Linear(WORD + SUFFIX + types.vectors.shape[1], WIDTH, bias=False)
        self.before_attention = nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.output = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )
        self.before_feeding = nn.LayerNorm(WIDTH)
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.last = nn.LayerNorm(WIDTH)
        self.tags = nn.Linear(WIDTH, tags)
        self.dropout = Dropout(dropout)
        self._initialise()

    @classmethod
    def of(cls, data: TaggingData, dropout: float = DROPOUT) -> "Tagger":
        """A new one, for sentences and tags of this data."""
        return cls(data.types, len(data.tags), data.longest, dropout)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for table, parts in ((self.words, 1), (self.suffixes, len(SUFFIXES))):
            nn.init.normal_(table.weight, std=SMALL * parts**-0.5)

    def forward(
        self,
        words: Int64[Tensor, "batch word"],
        real: Bool[Tensor, "batch word"],
        given: Attention | None = None,
    ) -> tuple[Logits, Attention]:
        """Logits, and the attention weights before dropout.

        Args:
            words: word types.
            real: what is no padding.
            given: weights in the place of the softmax, which are then frozen for good: queries and
                keys are not even computed.
        """
        state = self.input(self.dropout(self._embedded(words))) + self.timing[: words.shape[1]]
        normal = self.before_attention(state)
        weight = self._attention(normal, real) if given is None else given
        context = (self.dropout(weight) @ _heads(self.value(normal))).transpose(1, 2).flatten(2)
        state = self.dropout(state + self.output(context))
        fed = self.dropout(self.first(self.before_feeding(state)).relu())
        state = self.dropout(state + self.dropout(self.second(fed).relu()))
        return self.tags(self.last(state)), weight

    def run(self, batch: TagBatch, given: Attention | None = None) -> tuple[Logits, Attention]:
        """Run the tagger on a batch."""
        output: tuple[Logits, Attention] = self(batch.words, batch.real, given)
        return output

    def _embedded(self, words: Int64[Tensor, "batch word"]) -> Float[Tensor, "batch word input"]:
        parts = [self.words(self.rows[words]), self.suffixes(self.ends[words]).sum(-2)]
        return torch.cat([*parts, self.vectors[words]], -1)

    def _attention(
        self, normal: Float[Tensor, "batch word width"], real: Bool[Tensor, "batch word"]
    ) -> Attention:
        query, key = _heads(self.query(normal)), _heads(self.key(normal))
        logits = query @ key.mT / math.sqrt(query.shape[-1])
        return logits.masked_fill(~real[:, None, None], -torch.inf).softmax(-1)


def _heads(state: Float[Tensor, "batch word width"]) -> Float[Tensor, "batch head word part"]:
    parts: Tensor = state.reshape(*state.shape[:-1], HEADS, -1)
    return parts.transpose(1, 2)
