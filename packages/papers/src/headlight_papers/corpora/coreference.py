"""Documents with coreference: mentions, chains, and the spans of an encoded document."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headlight.corpora.files import DOCUMENT_LIMIT
from headlight.corpora.trees import Block, Sentence
from headlight.encode.assembly import Assembly
from headlight.encode.examples import Counts, Encoded, Examples, Recipe, annotate
from headlight.encode.pieces import Line, Tokenizer, WordPieces, pieces_of_lines
from headlight.encode.sentences import Unencodable, text_of_words, word_error
from headlight.errors import CorpusError, setting
from headlight.settings import Range, require_choice, require_range


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a mention that a bracket means: 1 of 1, except of discontinuous mentions."""

    number: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True)
class Span:
    """A mention: its chain, and the first and the last word of each of its parts.

    In a part that covers empty nodes only, the last word comes before the first.
    """

    chain: str
    parts: tuple[tuple[int, int], ...]


WHOLE = Part()


class Brackets:
    """The brackets of one document, in the order of the text.

    Brackets of one chain may nest; the one that closes belongs to the one opened last.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: dict[tuple[str, Part], list[tuple[int, str]]] = {}
        self._incomplete: dict[tuple[str, int], tuple[str, list[tuple[int, int]]]] = {}

    def open(self, chain: str, word: int, place: str, part: Part = WHOLE) -> None:
        """A mention, or a part of one, begins at a word; `place` is for messages."""
        self._open.setdefault((chain, part), []).append((word, place))

    def close(self, chain: str, word: int, place: str, part: Part = WHOLE) -> None:
        """The mention of the chain that was opened last ends at a word.

        Raises:
            CorpusError: None is open, or the parts of a mention are out of order.
        """
        waiting = self._open.get((chain, part))
        if not waiting:
            raise CorpusError(
                f"{place}: a mention of chain {chain!r} is closed that was never opened; "
                "correct the document."
            )
        first, _ = waiting.pop()
        if part.count == 1:
            self.spans.append(Span(chain, ((first, word),)))
        else:
            self._add_part(chain, part, (first, word), place)

    def finish(self) -> list[Span]:
        """All mentions of the document, which ends here.

        Raises:
            CorpusError: A mention is still open, or lacks a part.
        """
        for (chain, _), waiting in self._open.items():
            if waiting:
                raise CorpusError(
                    f"{waiting[-1][1]}: the mention of chain {chain!r} that opens here is not "
                    "closed within its document; correct the document."
                )
        for (chain, count), (place, parts) in self._incomplete.items():
            raise CorpusError(
                f"{place}: a mention of chain {chain!r} has {len(parts)} of its {count} parts "
                "only; correct the document."
            )
        return self.spans

    def _add_part(self, chain: str, part: Part, words: tuple[int, int], place: str) -> None:
        _, parts = self._incomplete.get((chain, part.count), (place, []))
        parts.append(words)
        self._incomplete[chain, part.count] = place, parts
        if part.number != len(parts):
            raise CorpusError(
                f"{place}: part {part.number} of {part.count} of a mention of chain {chain!r} is "
                f"found where part {len(parts)} should be; correct the document."
            )
        if part.number == part.count:
            self.spans.append(Span(chain, tuple(parts)))
            del self._incomplete[chain, part.count]


MentionKind = Literal["pronoun", "proper", "nominal"]

HeadRule = Callable[[Sequence[int]], int]
"""From the words of a mention, by their numbers in the document, to its head."""

KindRule = Callable[[int], MentionKind]
"""From the head word of a mention, by its number in the document, to its kind."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of words that refers to something.

    Attributes:
        chain: Mentions of one chain, within a document, refer to the same.
        first: Number of its first word in the document, from 0.
        last: Number of its last word, which is part of it.
        head: Number of its head word.
        kind: ``pronoun``, ``proper`` or ``nominal``, by its head word.
    """

    chain: str
    first: int
    last: int
    head: int
    kind: MentionKind


@dataclass(frozen=True, slots=True)
class CoreferenceDocument:
    """A document with its sentences and its mentions.

    Attributes:
        name: File and document, for messages.
        sentences: In order; words of the document are counted through all of them.
        mentions: In the order of `first`, longer ones before shorter ones.
    """

    name: str
    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return tuple(word for sentence in self.sentences for word in sentence.words)


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document, and what of its annotation could not be kept.

    Attributes:
        document: The document.
        discontinuous: Mentions of several parts, of which the part with the head word was kept.
        empty: Mentions of empty nodes only, which were left out.
    """

    document: CoreferenceDocument
    discontinuous: int
    empty: int


def annotate_mentions(
    name: str,
    sentences: Sequence[Sentence],
    spans: Sequence[Span],
    head_rule: HeadRule,
    kind_rule: KindRule,
) -> Annotated:
    """The document with a `Mention` for every span that has words."""
    mentions = []
    discontinuous = 0
    for span in spans:
        parts = [(first, last) for first, last in span.parts if first <= last]
        if not parts:
            continue
        head = head_rule([word for first, last in parts for word in range(first, last + 1)])
        first, last = next((first, last) for first, last in parts if first <= head <= last)
        mentions.append(Mention(span.chain, first, last, head, kind_rule(head)))
        discontinuous += len(parts) > 1
    # Where two mentions are one stretch, the order must not depend on the order of the brackets.
    mentions.sort(key=lambda mention: (mention.first, -mention.last, mention.chain))
    document = CoreferenceDocument(name, tuple(sentences), tuple(mentions))
    return Annotated(document, discontinuous, len(spans) - len(mentions))


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as it stands in the file.

    Attributes:
        place: File and line where it begins.
        blocks: Its sentences; at least one in CoNLL-U.
        title: What the file calls it, if that stands outside the blocks.
        fault: What is wrong with it as a whole; None if nothing is.
    """

    place: str
    blocks: tuple[Block, ...]
    title: str = ""
    fault: CorpusError | None = None

    def name(self, title: str) -> str:
        """Return the name of a document in messages: ``"a.conllu:12 (GUM_news_1)"``."""
        return f"{self.place} ({title})" if title else self.place


class Limit:
    """The size of a document that is being gathered, which may not exceed `DOCUMENT_LIMIT`."""

    def __init__(self) -> None:
        self._size = 0

    def add(self, block: Block, place: str) -> None:
        """Count the characters of a block.

        Raises:
            CorpusError: The document that begins at `place` is too long now.
        """
        self._size += sum(map(len, block.lines))
        if self._size > DOCUMENT_LIMIT:
            raise CorpusError(
                f"{place}: the document that begins here is longer than {DOCUMENT_LIMIT:,} "
                "characters; mark where documents begin, or cut the file."
            )


def gather(stream: Iterator[Block], begins: Callable[[Block], bool]) -> Iterator[RawDocument]:
    """Documents that have a beginning and end where the next one begins."""
    blocks: list[Block] = []
    limit = Limit()
    for block in stream:
        if blocks and begins(block):
            yield RawDocument(blocks[0].place(0), tuple(blocks))
            blocks, limit = [], Limit()
        blocks.append(block)
        limit.add(block, blocks[0].place(0))
    if blocks:
        yield RawDocument(blocks[0].place(0), tuple(blocks))


@dataclass(frozen=True, slots=True)
class EncodedSpan(Encoded):
    """A stretch of a document as an example; `words` counts from 0 within the stretch.

    Attributes:
        document: The document.
        first: Number, in the document, of the first word that is there.
        kept: How many words are there, all of them whole.
    """

    document: CoreferenceDocument = field(kw_only=True)
    first: int = field(kw_only=True)
    kept: int = field(kw_only=True)


def windows(
    document: CoreferenceDocument,
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overlap: int | None = None,
) -> list[EncodedSpan]:
    """The examples of one document; see `documents`.

    Raises:
        UsageError: As for `documents`.
        CorpusError: A word gets no token, shares one with the next word, or does not fit alone.
    """
    return list(documents([document], tokenizer, max_length=max_length, overlap=overlap))


def documents(
    documents: Iterable[CoreferenceDocument],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    overlap: int | None = None,
    unencodable: str = "error",
) -> Examples[EncodedSpan]:
    """Every document as one example or as several that overlap.

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
        documents: Usually of `open_coreference`.
        tokenizer: A fast Hugging Face tokenizer; its own special tokens are added.
        max_length: Tokens in an example at most, special tokens included.
        overlap: Words that neighbouring windows share, at least 0; None for the beginning alone.
        unencodable: What becomes of a document with a word, among those that are looked at, of
            which the tokenizer makes no token, that shares one with the next word, or that does
            not fit alone: ``error`` refuses it, ``skip`` leaves it out.

    Raises:
        UsageError: The tokenizer is slow, an option is unknown or out of range, or `max_length`
            leaves no room.
        CorpusError: While iterating: a document is refused; the message names file and line.
    """
    require_choice("way of dealing with words without a token", unencodable, Unencodable)
    if overlap is not None:
        require_range(setting("overlap"), overlap, Range(minimum=0))
    assembly = Assembly.of(tokenizer)
    room = assembly.room(max_length)

    def encode(group: list[CoreferenceDocument], counts: Counts) -> Iterator[EncodedSpan]:
        encoded = pieces_of_lines(tokenizer, [Line.of(document.words) for document in group])
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
    """From which word to before which each window goes; the last is empty if a word is too long."""
    first = stop = 0
    while stop < pieces.word_count:
        stop = bisect_right(pieces.ends, pieces.begin(first) + room)
        yield first, stop
        if overlap is None or stop <= first or stop == pieces.word_count:
            return
        # The earliest word from which the first new word still fits.
        earliest = bisect_left(pieces.ends, pieces.ends[stop] - room) + (pieces.ends[stop] > room)
        first = min(max(stop - overlap, earliest), stop)


def _fault(pieces: WordPieces, stretches: list[tuple[int, int]]) -> tuple[int, str] | None:
    """The first word among those looked at that spoils them, and why."""
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
        name = f"{document.name}#{number}" if len(stretches) > 1 else document.name
        example = assembly.one(name, pieces.of_words(first, stop))
        yield annotate(example, EncodedSpan, document=document, first=first, kept=stop - first)


def _word_error(document: CoreferenceDocument, word: int, reason: str) -> CorpusError:
    """The error for a word of the document, named by its sentence."""
    for sentence in document.sentences:
        if word < len(sentence):
            return word_error(sentence, word, reason)
        word -= len(sentence)
    raise AssertionError("a document has as many words as its sentences")
