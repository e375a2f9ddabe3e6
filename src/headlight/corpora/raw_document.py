"""The blocks of a document, gathered before they are parsed, so that it can be skipped whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headlight.corpora.blocks import Block
from headlight.corpora.document import DOCUMENT_LIMIT
from headlight.errors import CorpusError


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
        """What messages call it: ``"a.conllu:12 (GUM_news_1)"``."""
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


def gathered(stream: Iterator[Block], begins: Callable[[Block], bool]) -> Iterator[RawDocument]:
    """Documents that have a beginning and end where the next one begins."""
    kept: list[Block] = []
    limit = Limit()
    for block in stream:
        if kept and begins(block):
            yield RawDocument(kept[0].place(0), tuple(kept))
            kept, limit = [], Limit()
        kept.append(block)
        limit.add(block, kept[0].place(0))
    if kept:
        yield RawDocument(kept[0].place(0), tuple(kept))
