"""A stream of examples that keeps count of what was left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headlight.corpora import Document
from headlight.encode.encoded import Encoded

Item = TypeVar("Item")

GROUP_TEXTS = 512
GROUP_CHARACTERS = 2**20


@dataclass(slots=True)
class Counts:
    """What became of the documents so far; where sentences are read, each counts as a document.

    Attributes:
        documents: Documents read.
        examples: Examples made of them.
        truncated: Examples that lost tokens.
        lost_tokens: Tokens they lost.
        split: Documents that became more than one example because they were too long.
        empty: Documents in which the tokenizer found nothing.
        discarded: Documents whose rest was discarded by Clark's preprocessing.
        discarded_tokens: Tokens in those rests.
        too_long: Sentences that were left out because they do not fit.
        unencodable: Sentences or documents that were left out because the tokenizer does not keep
            their words.
    """

    documents: int = 0
    examples: int = 0
    truncated: int = 0
    lost_tokens: int = 0
    split: int = 0
    empty: int = 0
    discarded: int = 0
    discarded_tokens: int = 0
    too_long: int = 0
    unencodable: int = 0


class Examples:
    """Examples in the order of their documents; made while one iterates, and again every time.

    Attributes:
        counts: What the latest iteration has seen so far.
    """

    def __init__(self, make: Callable[[Counts], Iterator[Encoded]]) -> None:
        self.counts = Counts()
        self._make = make

    def __iter__(self) -> Iterator[Encoded]:
        self.counts = Counts()
        return self._counted(self.counts)

    def _counted(self, counts: Counts) -> Iterator[Encoded]:
        for example in self._make(counts):
            counts.examples += 1
            yield example


def paragraphs(document: Document) -> Sequence[str]:
    """The texts of a document."""
    return document.paragraphs


def grouped(items: Iterable[Item], texts: Callable[[Item], Sequence[str]]) -> Iterator[list[Item]]:
    """Items in groups that are large enough to be tokenised at once and small enough to hold.

    A group is closed when it has `GROUP_TEXTS` texts or `GROUP_CHARACTERS` characters.
    """
    group: list[Item] = []
    count = characters = 0
    for item in items:
        group.append(item)
        count += len(texts(item))
        characters += sum(map(len, texts(item)))
        if count >= GROUP_TEXTS or characters >= GROUP_CHARACTERS:
            yield group
            group, count, characters = [], 0, 0
    if group:
        yield group
