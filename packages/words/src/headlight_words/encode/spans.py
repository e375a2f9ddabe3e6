"""Documents with coreference as examples: windows of their words, with the spans of mentions."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import Tokenizer
from headlight.encode.sentences import Unencodable, text_of_words, word_error
from headlight.encode.special_tokens import Assembly
from headlight.encode.word_pieces import Line, WordPieces, pieces_of_lines
from headlight.errors import CorpusError, setting
from headlight.settings import Range, require_choice, require_range
from headlight_words.corpora.coreference import CoreferenceDocument


@dataclass(frozen=True, slots=True)
class EncodedSpan(Encoded):
    """A stretch of a document as an example; `words` counts from 0 within the stretch.

    Attributes:
        document: Document that the stretch is part of.
        first: Number, in the document, of the first word of the stretch.
        kept: Number of words in the stretch, all of them whole.
    """

    document: CoreferenceDocument = field(kw_only=True)
    first: int = field(kw_only=True)
    kept: int = field(kw_only=True)


def documents(
    documents: Iterable[CoreferenceDocument],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overlap: int | None = None,
    unencodable: str = "error",
) -> Examples[EncodedSpan]:
    """Encode every document as one example or as several that overlap.

    All words of a document, of one sentence after the other, are joined by single blanks;
    `sentences` says what that means for byte-level tokenizers.  Words are never cut in two.

    * Without `overlap`, a document becomes one example: its beginning, up to the last whole word
      that fits.  Clark et al. (2019), Section 4.3, cut documents in this way.
    * With it, windows cover every word of the document.  Each takes as many words as fit, and the
      next one repeats the last `overlap` words of it, or fewer where the first new word would not
      fit beside them: every window holds a word that none before it did.

    A document without words is left out.  `Examples.counts` says how many of those there were, how
    many were truncated or split, and how many have words that the tokenizer does not keep.

    Args:
        documents: Documents, usually of `open_coreference`.
        tokenizer: Fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Tokens in an example at most, special tokens included.
        overlap: Words that neighbouring windows share, at least 0; None for the beginning alone.
        unencodable: Treatment of a document with a word, among those examined, of which the
            tokenizer makes no token, that shares a token with the next word, or that does not fit
            alone: ``error`` refuses it, ``skip`` leaves it out.

    Raises:
        UsageError: The tokenizer is slow, an option is unknown or out of range, or `max_length`
            leaves no room.
        CorpusError: While iterating: a document is refused; the message names file and line.
    """
    require_choice("way of dealing with words without a token", unencodable, Unencodable)
    if overlap is not None:
        require_range(setting("overlap"), overlap, Range(minimum=0))
    assembly = Assembly.from_tokenizer(tokenizer)
    room = assembly.room(max_length)

    def encode(group: list[CoreferenceDocument], counts: Counts) -> Iterator[EncodedSpan]:
        encoded = pieces_of_lines(
            tokenizer, [Line.from_words(document.words) for document in group]
        )
        for document, pieces in zip(group, encoded, strict=True):
            counts.documents += 1
            stretches = list(_stretches(pieces, room, overlap))
            fault = _fault(pieces, stretches)
            if fault and unencodable == "error":
                raise _word_error(document, *fault)
            if fault:
                counts.unencodable += 1
            else:
                _count(pieces, stretches, counts)
                yield from _examples(document, pieces, stretches, assembly)

    return Examples(Recipe(documents, text_of_words, encode, assembly.marks))


def _stretches(pieces: WordPieces, room: int, overlap: int | None) -> Iterator[tuple[int, int]]:
    """Yield first and stop word of each window; the last is empty if a word is too long."""
    first = stop = 0
    while stop < pieces.word_count:
        # `ends` rises, so that a binary search finds the last word that still fits.
        stop = bisect_right(pieces.ends, pieces.begin(first) + room)
        yield first, stop
        if overlap is None or stop <= first or stop == pieces.word_count:
            return
        # The earliest word from which the first new word still fits.
        earliest = bisect_left(pieces.ends, pieces.ends[stop] - room) + (pieces.ends[stop] > room)
        # Each window must bring a new word, or the loop would not end.
        first = min(max(stop - overlap, earliest), stop)


def _fault(pieces: WordPieces, stretches: list[tuple[int, int]]) -> tuple[int, str] | None:
    """Return the first examined word that cannot be encoded, and why."""
    if not stretches:
        return None
    first, stop = stretches[-1]
    fault = pieces.fault_within(stop)
    if fault is None and stop <= first:
        size = pieces.ends[first] - pieces.begin(first)
        return first, f"has {size} tokens and does not fit into an example"
    return fault


def _count(pieces: WordPieces, stretches: list[tuple[int, int]], counts: Counts) -> None:
    counts.empty += not stretches
    counts.split += len(stretches) > 1
    if stretches:
        lost = len(pieces.pieces) - pieces.begin(stretches[-1][1])
        counts.truncated += lost > 0
        counts.lost_tokens += lost


def _examples(
    document: CoreferenceDocument,
    pieces: WordPieces,
    stretches: list[tuple[int, int]],
    assembly: Assembly,
) -> Iterator[EncodedSpan]:
    for number, (first, stop) in enumerate(stretches):
        # Windows have names of their own only where a document has several.
        name = f"{document.name}#{number}" if len(stretches) > 1 else document.name
        example = assembly.encode_text(name, pieces.of_words(first, stop))
        yield annotate(example, EncodedSpan, document=document, first=first, kept=stop - first)


def _word_error(document: CoreferenceDocument, word: int, reason: str) -> CorpusError:
    """Return the error for a word of the document, named by its sentence."""
    for sentence in document.sentences:
        if word < len(sentence):
            return word_error(sentence, word, reason)
        word -= len(sentence)
    raise AssertionError("a document has as many words as its sentences")
