"""The index of sentences; and of a batch, the attention of all heads between words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float32

from headlight.capture import LayerRecord
from headlight.encode.batch import NO_WORD, Batch
from headlight.encode.sentences import EncodedSentence
from headlight.errors import CorpusError
from headlight.measures import Scores, word_score
from headlight.pool import Words
from headlight.reduce import Tally
from headlight.run.example import NOTHING_SEEN, digest_with
from headlight_papers.studies.word_maps.store import NO_HEAD, SPECIALS, Index


@dataclass(slots=True)
class _Growing:
    """An index in the making; tuples of Python numbers, a few hundred bytes per sentence."""

    lengths: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    punctuation: list[bool] = field(default_factory=list)
    word: list[int] = field(default_factory=list)
    entries: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    special: list[bool] = field(default_factory=lambda: [True, True])


def index_of(examples: Iterable[EncodedSentence]) -> tuple[Index, str]:
    """The index, and the digest of what the model will read.

    Raises:
        CorpusError: a sentence has no heads, or there is no sentence.
    """
    grown, digest = _Growing(), NOTHING_SEEN
    for example in examples:
        _add(grown, example)
        digest = digest_with(digest, example)
    if not grown.lengths:
        raise CorpusError("the treebank holds no sentence that the model can read.")
    entries = list(grown.entries)
    return Index(
        lengths=np.array(grown.lengths, dtype=np.int64),
        heads=np.array(grown.heads, dtype=np.int64),
        punctuation=np.array(grown.punctuation, dtype=np.bool_),
        word=np.array(grown.word, dtype=np.int64),
        vocabulary=tuple(word for word, _ in entries),
        pieces=np.array([piece for _, pieces in entries for piece in pieces], dtype=np.int64),
        piece_counts=np.array([len(pieces) for _, pieces in entries], dtype=np.int64),
        special=np.array(grown.special),
    ), digest


def with_positions(example: EncodedSentence) -> EncodedSentence:
    """Return the example with its `words` numbered as in the store: two special tokens, then words.

    The special token right at the beginning has position 0 and the last one position 1, as far as
    they are there; any others have none.
    """
    words = list(example.words)
    places = [place for place, word in enumerate(words) if word != NO_WORD]
    moved = [word if word == NO_WORD else word + SPECIALS for word in words]
    if places and places[0] > 0:
        moved[0] = 0
    if places and places[-1] < len(words) - 1:
        moved[-1] = 1
    return replace(example, words=tuple(moved))


def _add(grown: _Growing, example: EncodedSentence) -> None:
    sentence, kept = example.sentence, example.kept
    sentence.require_tree()
    grown.lengths.append(kept)
    grown.heads += [head if head <= kept else NO_HEAD for head in sentence.heads[:kept]]
    grown.punctuation += [sentence.is_punctuation(word) for word in range(kept)]
    pieces = _pieces(example)
    for number in range(kept):
        key = (sentence.words[number], pieces.get(number, ()))
        grown.word.append(grown.entries.setdefault(key, len(grown.entries)))
    if kept:
        found = with_positions(example).words
        grown.special = [there and place in found for place, there in enumerate(grown.special)]


def _pieces(example: EncodedSentence) -> dict[int, tuple[int, ...]]:
    paired = zip(example.words, example.ids, strict=True)
    return {
        word: tuple(piece for _, piece in group)
        for word, group in groupby(paired, key=lambda pair: pair[0])
        if word != NO_WORD
    }


Maps = Float32[np.ndarray, "sentence position position head"]
Use = Callable[["Sequence[NumberedSentence]", Mapping[str, Maps]], None]
"""Is given the maps of a batch by measure."""


@dataclass(frozen=True, slots=True)
class NumberedSentence(EncodedSentence):
    """A sentence that knows its place in the corpus; `words` are those of `with_positions`."""

    number: int = field(kw_only=True)


def numbered(example: EncodedSentence, number: int) -> NumberedSentence:
    """The sentence with its number, and the positions of its words in the store."""
    moved = with_positions(example)
    values = {each.name: getattr(moved, each.name) for each in fields(EncodedSentence)}
    return NumberedSentence(**values, number=number)


@dataclass(eq=False, repr=False)
class MapsObserver:
    """Gathers the maps of a batch, and passes them on once all layers were seen.

    Attributes:
        batch: the batch.
        examples: its sentences.
        columns: where the heads of each layer go.
        measures: which maps.
        queries: how the pieces of an attending word are joined.
        pooling: how norms are pooled.
        use: what is done with the maps.
    """

    batch: Batch
    examples: Sequence[NumberedSentence]
    columns: Mapping[int, slice]
    measures: Sequence[str]
    queries: str
    pooling: str
    use: Use

    def __post_init__(self) -> None:
        self._words = Words.of(self.batch.word, queries=self.queries)
        heads = max(each.stop for each in self.columns.values())
        size = self._words.present.shape[1]
        shape = (len(self.examples), size, size, heads)
        self._maps = {measure: np.zeros(shape, dtype=np.float32) for measure in self.measures}

    def visit(self, record: LayerRecord) -> None:
        """Keep one layer."""
        scores = Scores(record, precision=torch.float32)
        for measure, maps in self._maps.items():
            pooled = word_score(scores, measure, self._words, pooling=self.pooling)
            maps[..., self.columns[record.site.layer]] = (
                pooled.permute(0, 2, 3, 1).float().cpu().numpy()
            )

    def tally(self) -> Tally:
        """Nothing to merge: what was seen has gone where it is used."""
        self.use(self.examples, self._maps)
        return Tally()
