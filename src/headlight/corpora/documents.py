"""Documents: texts that stand for themselves, with their paragraphs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headlight.chats import Chat, is_chat
from headlight.corpora.lines import DOCUMENT_LIMIT
from headlight.corpora.text_checks import demand_characters, refuse_chat
from headlight.errors import CorpusError, UsageError

BLANK_LINE = re.compile(r"\n\s*\n")
BLANK_LINES_BEFORE = re.compile(r"\A(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Document:
    """Text that stands for itself.

    Attributes:
        name: Place where it begins, for messages: ``"a.txt:12"`` (file and line) or
            ``"hf:imdb[3]"``.
        paragraphs: Units in their order, none of them blank.  The unit depends on the format: a
            paragraph of an encyclopedia or one line of plain text, stripped; a paragraph of a
            string, with its indentation; the whole text, in the format ``raw`` with all blanks
            around it; of a chat, the chat as JSON.
        chat: Chat, if the document is one.
    """

    name: str
    paragraphs: tuple[str, ...]
    chat: Chat | None = None

    def text_paragraphs(self) -> tuple[str, ...]:
        """Return the paragraphs of a document that is no chat.

        Raises:
            CorpusError: The document is a chat.
        """
        if self.chat is not None:
            raise CorpusError(
                f"{self.name}: here is a chat, where paragraphs of texts are needed; name a column "
                "that holds texts, or ask what reads each text by itself (do without pairs)."
            )
        return self.paragraphs


class Draft:
    """Document that is being read, unit by unit, and may not grow beyond `DOCUMENT_LIMIT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._paragraphs: list[str] = []
        self._size = 0

    def add(self, text: str, *, indented: bool = False) -> None:
        """Append a unit, without blanks around it; blank ones are left out.

        Args:
            text: Unit to append.
            indented: Whether the indentation of its first line is kept, as it has a meaning in
                code.

        Raises:
            CorpusError: The document is now longer than `DOCUMENT_LIMIT` characters.
        """
        if not text.strip():
            return
        text = BLANK_LINES_BEFORE.sub("", text.rstrip()) if indented else text.strip()
        self._size += len(text)
        if self._size > DOCUMENT_LIMIT:
            raise CorpusError(
                f"{self.name}: the document that begins here is longer than {DOCUMENT_LIMIT:,} "
                "characters; separate documents by blank lines, or read it with the format 'lines'."
            )
        self._paragraphs.append(text)

    def finish(self) -> Document | None:
        """Return the document, or None when it holds no text."""
        return Document(self.name, tuple(self._paragraphs)) if self._paragraphs else None


def document_of_value(name: str, value: object, column: str | None = None) -> Document | None:
    """Return the document that one cell of a table, JSON value or Python object holds.

    A string is split into paragraphs at blank lines (single line breaks stay in the text); a list
    of strings is taken as the paragraphs themselves; a list of messages is a chat.  Nothing
    (``None``, blanks) gives None.

    Args:
        name: Name of the document.
        value: Value of the cell or object.
        column: Column of the value, for a refusal.

    Raises:
        CorpusError: The value is none of these, or is not valid Unicode, or is messages that cannot
            be read.
    """
    if is_chat(value):
        try:
            chat = value if isinstance(value, Chat) else Chat.of(value)
        except UsageError as problem:
            raise CorpusError(f"{name}: {problem.marked()}") from problem
        return Document(name, (chat.as_json(),), chat)
    draft = Draft(name)
    for paragraph in _paragraphs(name, value, column):
        demand_characters(paragraph, name)
        draft.add(paragraph, indented=True)
    return draft.finish()


def _paragraphs(name: str, value: object, column: str | None) -> Sequence[str]:
    if value is None:
        return ()
    refuse_chat(value, name, column)
    if isinstance(value, str):
        return BLANK_LINE.split(value)
    if isinstance(value, list | tuple):
        strings = [item for item in value if isinstance(item, str)]
        if len(strings) == len(value):
            return strings
    raise CorpusError(
        f"{name}: the text must be a string or a list of strings, "
        f"not {type(value).__name__}; name another column than {column!r}."
        if column
        else f"{name}: a text is a string or a list of strings, not {type(value).__name__}."
    )
