"""Documents with coreference: mentions, chains, and the spans of an encoded document."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from headlight.corpora.line_blocks import Block
from headlight.corpora.lines import DOCUMENT_LIMIT
from headlight.corpora.sentence import Sentence
from headlight.errors import CorpusError


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
        """Begin a mention, or a part of it, at a word; `place` is for messages."""
        self._open.setdefault((chain, part), []).append((word, place))

    def close(self, chain: str, word: int, place: str, part: Part = WHOLE) -> None:
        """End the mention of the chain that was opened last at a word.

        Raises:
            CorpusError: No mention is open, or the parts of a mention are out of order.
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
        """Return all mentions of the document, which ends here.

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
"""Rule from the words of a mention, by their numbers in the document, to its head."""

KindRule = Callable[[int], MentionKind]
"""Rule from the head word of a mention, by its number in the document, to its kind."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of words that refers to something.

    Attributes:
        chain: Name of the chain; mentions of a chain, within a document, refer to the same thing.
        first: Number of its first word in the document, from 0.
        last: Number of its last word, which is part of it.
        head: Number of its head word.
        kind: Kind of the mention by its head word: ``pronoun``, ``proper`` or ``nominal``.
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
        sentences: Sentences, in order; words of the document are counted through all of them.
        mentions: Mentions, in the order of `first`, longer before shorter.
    """

    name: str
    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Return all words, in order."""
        return tuple(word for sentence in self.sentences for word in sentence.words)


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document, and counts of the annotation that could not be kept.

    Attributes:
        document: Document with the mentions that were kept.
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
    """Return the document with a `Mention` for every span that has words."""
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
        blocks: Sentences of the document; at least one in CoNLL-U.
        title: Its title in the file, if that stands outside the blocks.
        fault: Fault of the document as a whole; None if there is none.
    """

    place: str
    blocks: tuple[Block, ...]
    title: str = ""
    fault: CorpusError | None = None

    def name(self, title: str) -> str:
        """Return the name of a document in messages: ``"a.conllu:12 (GUM_news_1)"``."""
        return f"{self.place} ({title})" if title else self.place


def gather(stream: Iterator[Block], begins: Callable[[Block], bool]) -> Iterator[RawDocument]:
    """Yield documents, each of which ends where the next begins.

    Raises:
        CorpusError: A document is longer than `DOCUMENT_LIMIT`.
    """
    blocks: list[Block] = []
    size = 0
    for block in stream:
        if blocks and begins(block):
            yield RawDocument(blocks[0].place(0), tuple(blocks))
            blocks, size = [], 0
        blocks.append(block)
        size += sum(map(len, block.lines))
        if size > DOCUMENT_LIMIT:
            raise CorpusError(
                f"{blocks[0].place(0)}: the document that begins here is longer than "
                f"{DOCUMENT_LIMIT:,} characters; mark where documents begin, or cut the file."
            )
    if blocks:
        yield RawDocument(blocks[0].place(0), tuple(blocks))
