"""Examples made of texts: one each, or segments of documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

import numpy as np
from jaxtyping import Int64

from headlight.chats import Chat, as_read
from headlight.corpora import Document
from headlight.encode.assembly import Assembly
from headlight.encode.chats import chat_pieces
from headlight.encode.examples import Counts, Encoded, Examples, Recipe
from headlight.encode.pieces import Pieces, Tokenizer, tokenise
from headlight.errors import CorpusError, UsageError, setting
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
    """Two segments per example, the second the true continuation of the first.

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
        documents: Usually of `open_corpus`.
        tokenizer: A fast Hugging Face tokenizer.  What stands around the segments is its own, such
            as ``[CLS] A [SEP] B [SEP]`` or ``<s> A </s></s> B </s>``; one that adds nothing (GPT-2)
            gives A directly followed by B.
        length: Tokens in an example at most, special tokens included.
        seed: Of the random numbers; not negative.
        segment_ids: Token type ids; ``pair`` as the tokenizer gives them, ``zeros`` as in the
            released attention maps of Clark et al.
        lone_units: Whether a unit that fills the room alone waits for the next one (``join``) or
            ends its document (``discard``).
        decoder_start: For encoder-decoder models, the id with which the decoder begins: the second
            segment then becomes `Encoded.target`, and `length` bounds both together.

    Raises:
        UsageError: The tokenizer is slow, or an argument is out of range or unknown.

    Source: Clark et al. (2019), Section 3, and ``preprocess_unlabeled.py`` of their code.
    """
    require_choice("way of numbering segments", segment_ids, SegmentIds)
    require_choice("way of dealing with lone units", lone_units, LoneUnits)
    require_range(setting("seed"), seed, Range(minimum=0))
    assembly = Assembly.of(tokenizer, decoder_start)
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
            yield replace(assembly.two(pair.name, *fitted), origin=pair.origin)

    return Examples(Recipe(documents, attrgetter("paragraphs"), encode, assembly.marks))


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """The two segments of an example before they are shortened.

    Attributes:
        name: Of the example.
        origin: Of the example, see `Encoded`.
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
    """Settings of how documents are cut into chunks.

    Attributes:
        room: Tokens that close a chunk.
        at_least: Units without which it stays open all the same.
        seed: Of the random numbers.
    """

    room: int
    at_least: int
    seed: int

    def pairs(
        self, group: Sequence[Document], units: dict[str, Pieces], counts: Counts
    ) -> list[SegmentPair]:
        """The segments of some documents, given the pieces of their units."""
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
        """From which unit to before which each chunk goes."""
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
    """Both segments, shortened so that they fit the room together."""
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


Overflow = Literal["truncate", "split", "error"]
"""Treatment of a document that is too long."""


def texts(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overflow: str = "truncate",
) -> Examples:
    """Every document as one example, its paragraphs joined by a blank; chats by their template.

    Documents in which the tokenizer finds nothing are left out.  `Examples.counts` says how many
    those were, and what was truncated or split.

    Args:
        documents: Usually of `open_corpus`.
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Tokens in an example at most, special tokens included.
        overflow: What becomes of a longer document: ``truncate`` keeps its beginning, ``split``
            cuts it into windows that follow each other without overlap, each an example with
            special tokens of its own, and ``error`` refuses it.

    Raises:
        UsageError: The tokenizer is slow, `overflow` is unknown, or `max_length` leaves no room.
        CorpusError: While iterating: a document is too long, and `overflow` is ``error``; or a chat
            cannot be read.
    """
    require_choice("way of dealing with long texts", overflow, Overflow)
    of_texts = Assembly.of(tokenizer)
    of_texts.room(max_length)
    of_chats = of_texts.without_special_tokens()

    def encode(group: list[Document], counts: Counts) -> Iterator[Encoded]:
        for document, text in _pieces(group, tokenizer, counts):
            name, chat = document.name, document.chat
            assembly = of_chats if chat is not None and chat.template else of_texts
            room = assembly.room(max_length)
            if overflow == "error" and len(text) > room:
                raise CorpusError(
                    f"{name}: the document has {len(text) + assembly.single.size} tokens, more "
                    f"than {max_length}; truncate or split it, or allow more."
                )
            yield from _windows(name, text, room, overflow, assembly, counts)

    return Examples(Recipe(documents, attrgetter("paragraphs"), encode, of_texts.marks))


def _pieces(
    group: Sequence[Document], tokenizer: Tokenizer, counts: Counts
) -> Iterator[tuple[Document, Pieces]]:
    joined = [" ".join(each.paragraphs) for each in group if each.chat is None]
    of_texts = iter(tokenise(tokenizer, joined))
    for document in group:
        text = next(of_texts) if document.chat is None else _chat_pieces(tokenizer, document)
        counts.documents += 1
        counts.joined += len(document.paragraphs) > 1
        if len(text):
            yield document, text
        else:
            counts.empty += 1


def _chat_pieces(tokenizer: Tokenizer, document: Document) -> Pieces:
    """Return the pieces of a chat of a corpus."""
    try:
        return chat_pieces(tokenizer, as_read(document.chat))
    except UsageError as problem:
        raise CorpusError(f"{document.name}: {problem.marked()}") from problem


def _windows(
    name: str, text: Pieces, room: int, overflow: str, assembly: Assembly, counts: Counts
) -> Iterator[Encoded]:
    if len(text) <= room:
        yield assembly.one(name, text)
    elif overflow == "truncate":
        counts.truncated += 1
        counts.lost_tokens += len(text) - room
        yield assembly.one(name, text.window(0, room))
    else:
        counts.split += 1
        for number, start in enumerate(range(0, len(text), room)):
            yield assembly.one(f"{name}#{number}", text.window(start, start + room))


def encode_one(
    tokenizer: Tokenizer,
    text: str | Chat,
    pair: str | None = None,
    *,
    max_length: int | None = None,
    decoder_start: int | None = None,
) -> Encoded:
    """One text, or two, as an example; nothing is ever cut off.

    Args:
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        text: The first text, or a chat, around which its template puts special tokens of its own.
        pair: The second one, which follows the first; see `decoder_start`.
        max_length: Tokens at most, special tokens included; with a decoder, on either side.
        decoder_start: For encoder-decoder models, the id with which the decoder begins
            (``model.config.decoder_start_token_id``): the second text then becomes what the
            decoder is given, `Encoded.target`.

    Raises:
        UsageError: The tokenizer is slow, a text is empty, too long or not valid Unicode, or a chat
            cannot be read, or has a second text beside it.
    """
    assembly = Assembly.of(tokenizer, decoder_start)
    name = "text"
    if isinstance(text, Chat):
        if pair is not None:
            raise UsageError("a chat is read by itself; leave the second text out.")
        first = chat_pieces(tokenizer, text)
        if text.template:
            assembly = assembly.without_special_tokens()
    else:
        first = _tokenise_one(tokenizer, text, target=False)
    if pair is None:
        example = assembly.one(name, first)
    else:
        second = _tokenise_one(tokenizer, pair, target=decoder_start is not None)
        example = assembly.two(name, first, second)
    length = max(len(example.ids), len(example.target))
    if max_length is not None and length > max_length:
        raise UsageError(f"the text has {length} tokens, more than {max_length}; shorten it.")
    return example


def _tokenise_one(tokenizer: Tokenizer, text: str, *, target: bool) -> Pieces:
    try:
        (pieces,) = tokenise(tokenizer, [text], target=target)
    except (UnicodeEncodeError, TypeError) as error:  # the tokenizers library says TypeError
        raise UsageError("the text is not valid Unicode; write it again.") from error
    if not len(pieces):
        raise UsageError(f"the text {text!r} gives no tokens; write at least one word.")
    return pieces


def count_types(
    examples: Iterable[Encoded], types: int, *, target: bool = False
) -> Int64[np.ndarray, " type"]:
    """Count each type, special tokens included; nothing but the tokenizer runs.

    Args:
        examples: what will be looked at.
        types: the size of the vocabulary.
        target: count what the decoder is given instead.
    """
    counts = np.zeros(types, dtype=np.int64)
    for example in examples:
        counts += np.bincount(example.target if target else example.ids, minlength=types)
    return counts
