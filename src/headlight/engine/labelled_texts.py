"""Labelled texts, and sentences whose words have tags, as a classifier reads them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headlight.capture import Classes
from headlight.corpora import Corpus, TaggedSentence, open_sentence_pairs, open_tagged
from headlight.encode import Counts, Encoded, EncodedPair, EncodedSentence, Examples, annotate
from headlight.errors import CorpusError, UsageError, setting
from headlight.files import Location
from headlight.study_settings.classifiers import ClassifierSettings

LabelledSource = str | Location | Iterable[Any] | Corpus
"""A path, a pattern, ``hf:NAME``, an open corpus, or tuples: of a text and its label, or of the
words and the tags of a sentence."""


@dataclass(frozen=True, slots=True)
class Classified(Encoded):
    """Text or sentence with the numbers of its classes.

    Attributes:
        labels: Class of a text, or of each word of a sentence.
        places: First token of each word of a sentence, at which its class is read.
    """

    labels: tuple[int, ...] = field(kw_only=True)
    places: tuple[int, ...] = field(default=(), kw_only=True)


def open_labelled(
    source: LabelledSource, settings: ClassifierSettings, classes: Classes
) -> Corpus[Any]:
    """Return the corpus that a classifier of this task reads.

    Raises:
        UsageError: a column for labels is named, but labels belong to words.
    """
    if classes.task == "sequence":
        return open_sentence_pairs(
            source, format=settings.format, columns=settings.columns, label=settings.label_column
        )
    if settings.label_column is not None:
        raise UsageError(
            f"the tags of words are in a numbered column; name it with {setting('columns=')}, and "
            f"leave out {setting('label_column')}."
        )
    return open_tagged(source, format=settings.format, columns=settings.columns)


@dataclass(eq=False, repr=False)
class LabelledExamples:
    """Examples with the numbers of their classes, every time they are read."""

    examples: Examples[EncodedPair] | Examples[EncodedSentence]
    classes: Classes
    end: int | None

    @property
    def counts(self) -> Counts:
        """Return the counts of the texts in the latest iteration."""
        return self.examples.counts

    def __iter__(self) -> Iterator[Classified]:
        ends: int | None = None
        for example in self.examples:
            ends = self._check_ends(example, ends)
            if isinstance(example, EncodedPair):
                label = self.classes.number(example.label, example.name)
                yield annotate(example, Classified, labels=(label,))
            else:
                yield self._classify_sentence(example)

    def _check_ends(self, example: Encoded, before: int | None) -> int:
        """Count the end-of-text tokens of an example; refuse a number other than `before`."""
        ends = example.ids.count(self.end) if self.end is not None else 0
        if before not in (None, ends):
            raise CorpusError(
                f"{example.name}: it ends {ends} times, and what stands before it {before} times "
                "(a pair among texts, say), which this model cannot read together; keep them in "
                "files of their own."
            )
        return ends

    def _classify_sentence(self, example: EncodedSentence) -> Classified:
        sentence = example.sentence
        assert isinstance(sentence, TaggedSentence)  # noqa: S101 - the corpus is of these
        labels = tuple(
            self.classes.number(tag, f"{example.name}, word {word}")
            for word, tag in enumerate(sentence.tags[: example.kept], 1)
        )
        places = tuple(map(example.words.index, range(example.kept)))
        return annotate(example, Classified, labels=labels, places=places)
