"""A stream of examples that keeps count of what was left out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headlight.corpora import Document
from headlight.encode.encoded import Encoded

GROUP_TEXTS = 512
GROUP_CHARACTERS = 2**20


@dataclass(slots=True)
class Counts:
    """What became of the documents so far.

    Attributes:
        documents: Documents read.
        examples: Examples made of them.
        truncated: Examples that lost tokens.
        lost_tokens: Tokens they lost.
        split: Documents that became more than one example because they were too long.
        empty: Documents in which the tokenizer found nothing.
        discarded: Documents whose rest was discarded by Clark's preprocessing.
        discarded_tokens: Tokens in those rests.
    """

    documents: int = 0
    examples: int = 0
    truncated: int = 0
    lost_tokens: int = 0
    split: int = 0
    empty: int = 0
    discarded: int = 0
    discarded_tokens: int = 0


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


def grouped(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in groups that are large enough to be tokenised at once and small enough to hold.

    A group is closed when it has `GROUP_TEXTS` paragraphs or `GROUP_CHARACTERS` characters.
    """
    group: list[Document] = []
    paragraphs = characters = 0
    for document in documents:
        group.append(document)
        paragraphs += len(document.paragraphs)
        characters += sum(map(len, document.paragraphs))
        if paragraphs >= GROUP_TEXTS or characters >= GROUP_CHARACTERS:
            yield group
            group, paragraphs, characters = [], 0, 0
    if group:
        yield group
