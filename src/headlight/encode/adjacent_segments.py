"""Pairs of adjacent segments, as Clark et al. (2019) made them from Wikipedia."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

import numpy as np

from headlight.corpora import Document
from headlight.encode.examples import Counts, Encoded, Examples, Recipe
from headlight.encode.pieces import Pieces, Tokenizer, tokenise
from headlight.encode.special_tokens import Assembly
from headlight.errors import UsageError, setting
from headlight.settings import Range, require_choice, require_range

SegmentIds = Literal["pair", "zeros"]
"""Token type ids: as the tokenizer gives them, or zeros for both segments."""

LoneUnits = Literal["join", "discard"]
"""Treatment of a unit that fills an example alone."""


def adjacent_segments(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    *,
    length: int = 128,
    seed: int = 0,
    segment_ids: str = "pair",
    lone_units: str = "join",
    decoder_start: int | None = None,
) -> Examples:
    """Make examples of two segments, the second the true continuation of the first.

    The units are the paragraphs of a document: with one sentence per line, sentences as in the
    original; with encyclopedia text, paragraphs.  Room is what `length` leaves beside the special
    tokens (125 of 128 for BERT).

    1. Units are gathered into a chunk until it has at least room tokens, or the document ends.
    2. A chunk of n units is cut after the first k, k uniform in 1..n-1; a segment is the text of
       its units, joined by a blank.
    3. While both have more than room tokens together, the longer loses one (the second, when they
       are equally long), at its beginning or its end with equal chance.
    4. A chunk of a single unit cannot be cut: it is discarded, with all that follows it in the
       document.  `Examples.counts` says how often, and how many tokens.

    In the authors' code a unit that fills the room alone is a chunk, so step 4 ends its document
    there.  That hardly happens to sentences, but with paragraphs of a hundred words it would throw
    most text away, and the paper speaks of two consecutive paragraphs.  So by default such a unit
    is joined by the next one, and only a last unit that is left alone is discarded;
    ``lone_units="discard"`` does as the code does.  Up to where the code gives up a document, both
    give the same examples.

    Left out: the final shuffle, since no analysis depends on the order of the examples, and lower
    casing, which belongs to the tokenizer.  The random numbers of a document depend on `seed` and
    its place in the corpus alone, so an example is the same wherever a run is taken up.

    Args:
        documents: Documents, usually of `open_corpus`.
        tokenizer: Fast Hugging Face tokenizer.  It puts its own special tokens around the segments,
            such as ``[CLS] A [SEP] B [SEP]`` or ``<s> A </s></s> B </s>``; a tokenizer that adds
            nothing (GPT-2) gives A directly followed by B.
        length: Largest number of tokens in an example, special tokens included.
        seed: Seed of the random numbers; not negative.
        segment_ids: Token type ids; ``pair`` as the tokenizer gives them, ``zeros`` as in the
            released attention maps of Clark et al.
        lone_units: Whether a unit that fills the room alone waits for the next one (``join``) or
            ends its document (``discard``).
        decoder_start: Id with which the decoder of an encoder-decoder model begins: the second
            segment then becomes `Encoded.target`, and `length` bounds both together.

    Raises:
        UsageError: The tokenizer is slow, or an argument is out of range or unknown.

    Source: Clark et al. (2019), Section 3, and ``preprocess_unlabeled.py`` of their code.
    """
    require_choice("way of numbering segments", segment_ids, SegmentIds)
    require_choice("way of dealing with lone units", lone_units, LoneUnits)
    require_range(setting("seed"), seed, Range(minimum=0))
    assembly = Assembly.from_tokenizer(tokenizer, decoder_start)
    if segment_ids == "zeros":
        assembly = assembly.without_segments()
    room = length - assembly.pair_size
    if room < 2:
        raise UsageError(
            f"a length of {length} leaves no room for two texts beside "
            f"{assembly.pair_size} special tokens; allow more."
        )

    chunking = Chunking(room, at_least=2 if lone_units == "join" else 1, seed=seed)

    def encode(group: list[Document], counts: Counts) -> Iterator[Encoded]:
        units = _tokenise_units(group, tokenizer)
        pairs = chunking.pairs(group, units, counts)
        for pair, first, second in _segments(pairs, units, tokenizer, decoder_start is None):
            fitted = _fit(first, second, room, pair.generator, counts)
            yield replace(assembly.encode_pair(pair.name, *fitted), origin=pair.origin)

    return Examples(Recipe(documents, attrgetter("paragraphs"), encode, assembly.marks))


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """Segments of an example before they are shortened.

    Attributes:
        name: Name of the example.
        origin: Origin of the example; see `Encoded`.
        first: Text of the first segment.
        second: Text of the second segment.
        generator: Random numbers of the document, which its pairs share.
    """

    name: str
    origin: tuple[int, int]
    first: str
    second: str
    generator: np.random.Generator


@dataclass(frozen=True, slots=True)
class Chunking:
    """Settings by which documents are cut into chunks.

    Attributes:
        room: Number of tokens that close a chunk.
        at_least: Number of units without which it stays open all the same.
        seed: Seed of the random numbers.
    """

    room: int
    at_least: int
    seed: int

    def pairs(
        self, group: Sequence[Document], units: dict[str, Pieces], counts: Counts
    ) -> list[SegmentPair]:
        """Return the segments of some documents, given the pieces of their units."""
        pairs: list[SegmentPair] = []
        for document in group:
            place = counts.documents
            generator = np.random.default_rng([self.seed, place])
            counts.documents += 1
            filled = [unit for unit in document.paragraphs if len(units[unit])]
            counts.empty += not filled
            lengths = [len(units[unit]) for unit in filled]
            pairs += self._cut(document.name, place, filled, lengths, generator, counts)
        return pairs

    def _cut(
        self,
        name: str,
        place: int,
        units: Sequence[str],
        lengths: Sequence[int],
        generator: np.random.Generator,
        counts: Counts,
    ) -> Iterator[SegmentPair]:
        for number, (start, stop) in enumerate(self._chunks(lengths)):
            if stop - start < 2:
                counts.discarded += 1
                counts.discarded_tokens += sum(lengths[start:])
                return
            cut = start + int(generator.integers(1, stop - start))
            first, second = " ".join(units[start:cut]), " ".join(units[cut:stop])
            yield SegmentPair(f"{name}#{number}", (place, number), first, second, generator)

    def _chunks(self, lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the first unit of each chunk, and the unit after its last."""
        start = total = 0
        for stop, length in enumerate(lengths, start=1):
            total += length
            full = total >= self.room and stop - start >= self.at_least
            if full or stop == len(lengths):
                yield start, stop
                start, total = stop, 0


def _tokenise_units(group: Sequence[Document], tokenizer: Tokenizer) -> dict[str, Pieces]:
    units = list(dict.fromkeys(unit for document in group for unit in document.text_paragraphs()))
    return dict(zip(units, tokenise(tokenizer, units), strict=True))


def _segments(
    pairs: Sequence[SegmentPair], units: dict[str, Pieces], tokenizer: Tokenizer, one_side: bool
) -> Iterator[tuple[SegmentPair, Pieces, Pieces]]:
    # Segments of several units are tokenised as a whole: to join the pieces of the units would be
    # wrong for vocabularies that write the blank before a word into the piece.
    firsts = _look_up([pair.first for pair in pairs], units, tokenizer, target=False)
    cache = units if one_side else {}
    seconds = _look_up([pair.second for pair in pairs], cache, tokenizer, target=not one_side)
    yield from zip(pairs, firsts, seconds, strict=True)


def _look_up(
    texts: Sequence[str], cache: dict[str, Pieces], tokenizer: Tokenizer, *, target: bool
) -> list[Pieces]:
    missing = list(dict.fromkeys(text for text in texts if text not in cache))
    pieces = cache | dict(zip(missing, tokenise(tokenizer, missing, target=target), strict=True))
    return [pieces[text] for text in texts]


def _fit(
    first: Pieces, second: Pieces, room: int, generator: np.random.Generator, counts: Counts
) -> tuple[Pieces, Pieces]:
    """Shorten both segments so that they fit the room together."""
    kept_first, kept_second = len(first), len(second)
    excess = kept_first + kept_second - room
    for _ in range(excess):
        if kept_first > kept_second:
            kept_first -= 1
        else:
            kept_second -= 1
    counts.truncated += excess > 0
    counts.lost_tokens += max(excess, 0)
    return _window(first, kept_first, generator), _window(second, kept_second, generator)


def _window(text: Pieces, size: int, generator: np.random.Generator) -> Pieces:
    # Each lost token goes from either end with equal chance: this many go from the beginning.
    start = int(generator.binomial(len(text) - size, 0.5))
    return text.window(start, start + size)
