"""One document: its name and its paragraphs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.lines import DOCUMENT_LIMIT
from headlight.errors import CorpusError

BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Document:
    """A text that stands for itself.

    Attributes:
        name: Where it begins, for messages: ``"a.txt:12"`` (file and line) or ``"hf:imdb[3]"``.
        paragraphs: Its units in order, each stripped and not empty.  What a unit is depends on the
            format: a paragraph of an encyclopedia, one line of plain text, or the whole text.
    """

    name: str
    paragraphs: tuple[str, ...]


class Draft:
    """A document that is being read, unit by unit, and may not grow beyond `DOCUMENT_LIMIT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._paragraphs: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Append a unit; blank ones are left out.

        Raises:
            CorpusError: The document is now longer than `DOCUMENT_LIMIT` characters.
        """
        text = text.strip()
        if not text:
            return
        self._size += len(text)
        if self._size > DOCUMENT_LIMIT:
            raise CorpusError(
                f"{self.name}: the document that begins here is longer than {DOCUMENT_LIMIT:,} "
                "characters; separate documents by blank lines, or read it with the format 'lines'."
            )
        self._paragraphs.append(text)

    def finish(self) -> Document | None:
        """The document, or None when it holds no text."""
        return Document(self.name, tuple(self._paragraphs)) if self._paragraphs else None


def document_of_value(name: str, value: object) -> Document | None:
    """The document that one cell of a table, one JSON value or one Python object holds.

    A string is split into paragraphs at blank lines (single line breaks stay in the text); a list
    of strings is taken as the paragraphs themselves.  Nothing (``None``, blanks) gives None.

    Raises:
        CorpusError: The value is neither, or is not valid Unicode.
    """
    draft = Draft(name)
    for paragraph in _paragraphs(name, value):
        demand_characters(paragraph, name)
        draft.add(paragraph)
    return draft.finish()


def demand_characters(text: str, name: str) -> None:
    """Refuse what JSON can write and no text can hold.

    Raises:
        CorpusError: The text holds half of a surrogate pair.
    """
    if not text.isascii() and _has_surrogates(text):
        raise CorpusError(
            f"{name}: the text holds half of a surrogate pair, which is no character; "
            "write the file again from the original text."
        )


def _paragraphs(name: str, value: object) -> Sequence[str]:
    if value is None:
        return ()
    if isinstance(value, str):
        return BLANK_LINE.split(value)
    if isinstance(value, list | tuple):
        strings = [item for item in value if isinstance(item, str)]
        if len(strings) == len(value):
            return strings
    raise CorpusError(
        f"{name}: the text must be a string or a list of strings, "
        f"not {type(value).__name__}; name another column."
    )


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
