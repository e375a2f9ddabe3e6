"""Windows of documents as examples that know what is asked about them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields

from headlight.encode import Encoded, EncodedSpan
from headlight.studies.coreference.settings import TaskSettings
from headlight.studies.coreference.task import AntecedentTask, MentionTable


@dataclass(frozen=True, slots=True)
class AntecedentExample(Encoded):
    """A window of a document with at least one evaluated mention.

    Attributes:
        task: What is asked.
        number: Of the document in the corpus, from 0.
    """

    task: AntecedentTask = field(kw_only=True)
    number: int = field(kw_only=True)


@dataclass(slots=True)
class AntecedentCounts:
    """What became of the mentions; those of chains add up to `mentions`.

    Attributes:
        documents: Documents with at least one window.
        documents_without: Those of them without any evaluated mention.
        windows: Windows.
        windows_without: Those of them without any evaluated mention, which the model never sees.
        mentions: Mentions of chains of two or more.
        answerable: Mentions with an antecedent in their window.
        without_antecedent: Mentions whose antecedents are all outside their window.
        cut: Mentions with antecedents that lie whole in no window.
        opening: Mentions without any antecedent in the document: mostly the first of their chains.
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


class AntecedentExamples:
    """The windows that are worth running, in order; they can be iterated again.

    Args:
        spans: Makes the windows anew; those of one document follow each other.
        settings: Which mentions are evaluated.

    Attributes:
        counts: What the latest iteration has met so far.
    """

    def __init__(self, spans: Callable[[], Iterable[EncodedSpan]], settings: TaskSettings) -> None:
        self.counts = AntecedentCounts()
        self._spans = spans
        self._settings = settings

    def __iter__(self) -> Iterator[AntecedentExample]:
        self.counts = AntecedentCounts()
        return self._examples(self.counts)

    def _examples(self, counts: AntecedentCounts) -> Iterator[AntecedentExample]:
        reading: _Reading | None = None
        for span in self._spans():
            if reading is None or not reading.goes_on(span):
                if reading:
                    reading.close()
                reading = _Reading(span, self._settings, counts)
            task = reading.task(span)
            if len(task):
                yield _example(span, task, reading.number)
        if reading:
            reading.close()


class _Reading:
    """One document, window by window."""

    def __init__(self, span: EncodedSpan, settings: TaskSettings, counts: AntecedentCounts) -> None:
        self.number = counts.documents
        self._table = MentionTable.of(span.document, settings)
        self._counts = counts
        self._first, self._done, self._met, self._asked = -1, 0, 0, 0
        counts.documents += 1

    def goes_on(self, span: EncodedSpan) -> bool:
        """Whether the window is a later one of the same document."""
        return span.document is self._table.document and span.first > self._first

    def task(self, span: EncodedSpan) -> AntecedentTask:
        """What is asked about the next window."""
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
        """Count what no window held."""
        table, counts = self._table, self._counts
        resolvable = int(table.resolvable.sum())
        counts.mentions += int(table.coreferent.sum())
        counts.opening += int(table.coreferent.sum()) - resolvable
        counts.cut += resolvable - self._met
        counts.documents_without += not self._asked


def _example(span: EncodedSpan, task: AntecedentTask, number: int) -> AntecedentExample:
    values = {each.name: getattr(span, each.name) for each in fields(Encoded)}
    return AntecedentExample(**values, task=task, number=number)
