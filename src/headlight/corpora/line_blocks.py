"""Blocks of lines, with a blank line between them: a sentence with a word in each line."""

from collections.abc import Iterator
from dataclasses import dataclass

from headlight.corpora.lines import DOCUMENT_LIMIT, Lines
from headlight.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of a file that are not blank.

    Attributes:
        file: Name of the file, for messages.
        start: Number of the first line in the file, from 1.
        lines: Lines without their line breaks.
    """

    file: str
    start: int
    lines: tuple[str, ...]

    def place(self, index: int) -> str:
        """Return file and line of ``lines[index]``: ``"dev.conllu:12"``."""
        return f"{self.file}:{self.start + index}"


def blocks(lines: Lines) -> Iterator[Block]:
    """Yield the blocks of a file, one at a time.

    Raises:
        CorpusError: The file cannot be read, or a block is longer than `DOCUMENT_LIMIT`.
    """
    gathered: list[str] = []
    size = 0
    for line in lines:
        if line.strip():
            gathered.append(line.rstrip("\r\n"))
            size += len(line)
            _check_size(size, lines, len(gathered))
        elif gathered:
            yield Block(lines.name, lines.number - len(gathered), tuple(gathered))
            gathered, size = [], 0
    if gathered:  # without a blank line behind it, the last line read is its own
        yield Block(lines.name, lines.number - len(gathered) + 1, tuple(gathered))


def _check_size(size: int, lines: Lines, count: int) -> None:
    if size > DOCUMENT_LIMIT:
        raise CorpusError(
            f"{lines.name}:{lines.number - count + 1}: the sentence that begins here is longer "
            f"than {DOCUMENT_LIMIT:,} characters; separate sentences by blank lines."
        )
