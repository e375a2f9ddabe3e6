"""Task of picking the antecedent of a mention, for heads and baselines, by windows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int64

from headlight.encode import Encoded, Examples, annotate
from headlight_words.corpora import CoreferenceDocument, Mention
from headlight_words.encode.spans import EncodedSpan
from headlight_words.studies.coreference import Candidates, TaskSettings

KINDS = ("pronoun", "proper", "nominal")
"""Kinds of mentions, by their head words; an index into this tuple stands for a kind."""


@dataclass(frozen=True, eq=False)
class AntecedentTask:
    """The mentions of a window of words; some are evaluated, and others may be picked for them.

    All numbers of words count from the first of the window.  Which of two mentions comes first is
    decided by their head words, between which attention is measured.

    Attributes:
        words: Words of the window.
        tags: Parts of speech of the words (XPOS, else UPOS); empty strings where there are none.
        mentions: Mentions that lie whole in the window, in the order of the document.
        evaluated: Indices of the evaluated mentions.
        other: Whether a candidate differs from the evaluated mention, and has another head word.
        earlier: Whether it is such a mention whose head word comes before.
        antecedent: Whether it is such an earlier mention of the same chain.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    mentions: tuple[Mention, ...]
    evaluated: Int64[np.ndarray, " mention"]
    other: Bool[np.ndarray, "mention candidate"]
    earlier: Bool[np.ndarray, "mention candidate"]
    antecedent: Bool[np.ndarray, "mention candidate"]

    def __len__(self) -> int:
        return len(self.evaluated)

    @property
    def heads(self) -> Int64[np.ndarray, " candidate"]:
        """Return the head word of every mention, evaluated or not."""
        return np.array([mention.head for mention in self.mentions], dtype=np.int64)

    @property
    def query(self) -> Int64[np.ndarray, " mention"]:
        """Return the head word of every evaluated mention."""
        query: Int64[np.ndarray, " mention"] = self.heads[self.evaluated]
        return query

    @property
    def kind(self) -> Int64[np.ndarray, " mention"]:
        """Return the kind of every evaluated mention, as an index into `KINDS`."""
        kinds = [KINDS.index(self.mentions[place].kind) for place in self.evaluated]
        return np.array(kinds, dtype=np.int64)

    def antecedent_words(self) -> Bool[np.ndarray, "mention word"]:
        """Whether a word is the head word of an antecedent."""
        return self._select_heads(self.antecedent)

    def candidate_words(
        self, candidates: Candidates, *, preceding: bool
    ) -> Bool[np.ndarray, "mention word"]:
        """Whether a word may be picked: the head word of another mention, or any other word."""
        number, query = np.arange(len(self.words)), self.query[:, None]
        allowed: Bool[np.ndarray, "mention word"] = number < query if preceding else number != query
        if candidates == "mentions":
            allowed &= self._select_heads(self.other)
        return allowed

    def _select_heads(
        self, chosen: Bool[np.ndarray, "mention candidate"]
    ) -> Bool[np.ndarray, "mention word"]:
        words = np.zeros((len(self), len(self.words)), dtype=bool)
        mention, candidate = np.nonzero(chosen)
        words[mention, self.heads[candidate]] = True
        return words


@dataclass(frozen=True, eq=False)
class Pairs:
    """Relations between every two mentions.

    Attributes:
        other, earlier, antecedent: Masks as in `AntecedentTask`.
    """

    other: Bool[np.ndarray, "mention candidate"]
    earlier: Bool[np.ndarray, "mention candidate"]
    antecedent: Bool[np.ndarray, "mention candidate"]


@dataclass(frozen=True, eq=False)
class MentionTable:
    """The mentions of a document that count: those of chains, and singletons where requested.

    Attributes:
        document: Document of the mentions.
        settings: Settings of the evaluated mentions, and of those that may be picked.
        mentions: Mentions in the order of the document, longer before shorter.
        first: Number of the first word of each mention.
        last: Number of the last word of each mention.
        heads: Number of the head word of each mention.
        chain: Number of the chain of each mention.
        tags: Part of speech of every word.
    """

    document: CoreferenceDocument
    settings: TaskSettings
    mentions: tuple[Mention, ...]
    first: Int64[np.ndarray, " mention"]
    last: Int64[np.ndarray, " mention"]
    heads: Int64[np.ndarray, " mention"]
    chain: Int64[np.ndarray, " mention"]
    tags: tuple[str, ...]

    @classmethod
    def from_document(cls, document: CoreferenceDocument, settings: TaskSettings) -> "MentionTable":
        """Return the mentions of a document."""
        mentions = _mentions(document, settings)
        numbers = {
            name: number
            for number, name in enumerate(dict.fromkeys(mention.chain for mention in mentions))
        }
        return cls(
            document=document,
            settings=settings,
            mentions=mentions,
            first=np.array([mention.first for mention in mentions], dtype=np.int64),
            last=np.array([mention.last for mention in mentions], dtype=np.int64),
            heads=np.array([mention.head for mention in mentions], dtype=np.int64),
            chain=np.array([numbers[mention.chain] for mention in mentions], dtype=np.int64),
            tags=_tags(document),
        )

    @cached_property
    def coreferent(self) -> Bool[np.ndarray, " mention"]:
        """Whether the chain of each mention has another mention in the document."""
        several: Bool[np.ndarray, " mention"] = np.bincount(self.chain)[self.chain] > 1
        return several

    @cached_property
    def resolvable(self) -> Bool[np.ndarray, " mention"]:
        """Whether each mention has an antecedent somewhere in the document."""
        mask = np.zeros(len(self.mentions), dtype=bool)
        order = np.argsort(self.chain, kind="stable")
        cuts = np.flatnonzero(np.diff(self.chain[order])) + 1
        for members in np.split(order, cuts):
            mask[members] = self.pairs(members).antecedent.any(1)
        return mask

    def pairs(self, places: Int64[np.ndarray, " mention"]) -> Pairs:
        """Return the relations between some of the mentions."""
        first, last, heads, chain = (
            values[places] for values in (self.first, self.last, self.heads, self.chain)
        )
        # Two mentions with one head word cannot be told apart by attention between words.
        other = heads[:, None] != heads
        if self.settings.nested == "exclude":
            # A mention and one inside it share words, and may be left out as candidates.
            inside = (first[:, None] >= first) & (last[:, None] <= last)
            other &= ~(inside | inside.T)
        earlier = other & (heads < heads[:, None])
        return Pairs(other, earlier, earlier & (chain[:, None] == chain))

    def new(self, first: int, stop: int, done: int) -> Bool[np.ndarray, " mention"]:
        """Return the mask of mentions within a window that end at or after `done`."""
        inside: Bool[np.ndarray, " mention"] = (
            (self.first >= first) & (self.last < stop) & (self.last >= done)
        )
        return inside

    def task(self, first: int, stop: int, *, done: int = 0) -> AntecedentTask:
        """Return the task of the window from the word `first` to before `stop`.

        Args:
            first: First word of the window.
            stop: Word after the last of the window.
            done: End of the previous window; mentions that end before it were evaluated there.
        """
        here = np.flatnonzero((self.first >= first) & (self.last < stop))
        pairs = self.pairs(here)
        asks_all = self.settings.evaluated == "all"
        # Mentions whose antecedents all lie outside the window cannot be found, but may be asked.
        fit = self.resolvable[here] if asks_all else pairs.antecedent.any(1)
        questions = np.flatnonzero(fit & (self.last[here] >= done))
        return AntecedentTask(
            words=self.document.words[first:stop],
            tags=self.tags[first:stop],
            mentions=tuple(_shift(self.mentions[place], first) for place in here),
            evaluated=questions,
            other=pairs.other[questions],
            earlier=pairs.earlier[questions],
            antecedent=pairs.antecedent[questions],
        )


def _mentions(document: CoreferenceDocument, settings: TaskSettings) -> tuple[Mention, ...]:
    sizes = Counter(mention.chain for mention in document.mentions)
    chosen = [
        replace(mention, head=mention.last) if settings.head_word == "last" else mention
        for mention in document.mentions
        if settings.singletons or sizes[mention.chain] > 1
    ]
    return tuple(sorted(chosen, key=lambda mention: (mention.first, -mention.last)))


def _tags(document: CoreferenceDocument) -> tuple[str, ...]:
    return tuple(
        tag
        for sentence in document.sentences
        for tag in (sentence.xpos or sentence.upos or ("",) * len(sentence))
    )


def _shift(mention: Mention, first: int) -> Mention:
    return replace(
        mention, first=mention.first - first, last=mention.last - first, head=mention.head - first
    )


@dataclass(frozen=True, slots=True)
class AntecedentExample(Encoded):
    """A window of a document with at least one evaluated mention.

    Attributes:
        task: Mentions to evaluate, with their candidates.
    """

    task: AntecedentTask = field(kw_only=True)


@dataclass(slots=True)
class AntecedentCounts:
    """Counts of mentions by their outcome; those of chains add up to `mentions`.

    Attributes:
        documents: Documents with at least one window.
        documents_without: Documents without any evaluated mention.
        windows: Windows.
        windows_without: Windows without any evaluated mention, which the model never sees.
        mentions: Mentions of chains of two or more.
        answerable: Mentions with an antecedent in their window.
        without_antecedent: Mentions whose antecedents are all outside their window.
        cut: Mentions with antecedents that lie whole in no window.
        opening: Mentions without any antecedent in the document: mostly the first of their chains.
        empty: Documents without words.
        unencodable: Documents that were left out because the tokenizer does not keep their words.
        truncated: Documents that lost tokens at their end.
        lost_tokens: Tokens that they lost.
        unknown: Tokens that the tokenizer does not know, in all windows.
    """

    documents: int = 0
    documents_without: int = 0
    windows: int = 0
    windows_without: int = 0
    mentions: int = 0
    answerable: int = 0
    without_antecedent: int = 0
    cut: int = 0
    opening: int = 0
    empty: int = 0
    unencodable: int = 0
    truncated: int = 0
    lost_tokens: int = 0
    unknown: int = 0


class AntecedentExamples:
    """The windows with an evaluated mention, in order; they can be iterated again.

    Args:
        spans: Windows; those of one document follow each other.
        settings: Settings of the evaluated mentions.
    """

    def __init__(self, spans: Examples[EncodedSpan], settings: TaskSettings) -> None:
        self._spans = spans
        self._settings = settings
        self._counts = AntecedentCounts()

    @property
    def counts(self) -> AntecedentCounts:
        """Return the counts of the latest iteration so far, documents left out before included."""
        encoded = self._spans.counts
        return replace(
            self._counts,
            empty=encoded.empty,
            unencodable=encoded.unencodable,
            truncated=encoded.truncated,
            lost_tokens=encoded.lost_tokens,
            unknown=encoded.unknown,
        )

    def __iter__(self) -> Iterator[AntecedentExample]:
        self._counts = AntecedentCounts()
        return self._examples(self._counts)

    def _examples(self, counts: AntecedentCounts) -> Iterator[AntecedentExample]:
        reading: _Reading | None = None
        for span in self._spans:
            if reading is None or not reading.goes_on(span):
                if reading:
                    reading.close()
                reading = _Reading(span, self._settings, counts)
            task = reading.task(span)
            if len(task):
                yield annotate(span, AntecedentExample, task=task)
        if reading:
            reading.close()


class _Reading:
    """A document read window by window."""

    def __init__(self, span: EncodedSpan, settings: TaskSettings, counts: AntecedentCounts) -> None:
        self._table = MentionTable.from_document(span.document, settings)
        self._counts = counts
        self._first, self._done, self._met, self._asked = -1, 0, 0, 0
        counts.documents += 1

    def goes_on(self, span: EncodedSpan) -> bool:
        """Whether the window is a later one of the same document."""
        # The same document may be read twice in a row; then its windows begin anew.
        return span.document is self._table.document and span.first > self._first

    def task(self, span: EncodedSpan) -> AntecedentTask:
        """Return the task of the next window."""
        stop = span.first + span.kept
        task = self._table.task(span.first, stop, done=self._done)
        answerable = int(task.antecedent.any(1).sum())
        met = int((self._table.resolvable & self._table.new(span.first, stop, self._done)).sum())
        self._first, self._done = span.first, max(self._done, stop)
        self._met += met
        self._asked += len(task)
        self._counts.windows += 1
        self._counts.windows_without += not len(task)
        self._counts.answerable += answerable
        self._counts.without_antecedent += met - answerable
        return task

    def close(self) -> None:
        """Count the mentions that no window held, and the document."""
        table, counts = self._table, self._counts
        resolvable = int(table.resolvable.sum())
        counts.mentions += int(table.coreferent.sum())
        counts.opening += int(table.coreferent.sum()) - resolvable
        counts.cut += resolvable - self._met
        counts.documents_without += not self._asked
