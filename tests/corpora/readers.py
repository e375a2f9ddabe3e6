"""Readers of files, each with a valid input, of which damaged ones are made."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reader:
    """What reads a file; its name, and what a valid one holds; whether it may be packed."""

    read: Callable[[Path], object]
    name: str
    content: str | bytes
    packed: bool = True

    @property
    def bytes(self) -> bytes:
        return self.content.encode() if isinstance(self.content, str) else self.content


def corpus(opener, **options):
    return lambda path: list(opener(str(path), **options))
