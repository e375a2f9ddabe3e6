"""From encoded sentences to the index of a store."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from headlight.encode.batch import NO_WORD
from headlight.encode.sentences import EncodedSentence
from headlight.errors import CorpusError
from headlight.run.example import NOTHING_SEEN, digest_with
from headlight.studies.word_maps.store import NO_HEAD, SPECIALS, Index


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
    """The same example with its `words` numbered as in the store: two special tokens, then words.

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
