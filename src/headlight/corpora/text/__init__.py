"""One document: its name and its paragraphs."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headlight.corpora.lines import DOCUMENT_LIMIT
from headlight.errors import CorpusError, UsageError

TEMPLATE = (
    "put them into the template of the model first, with "
    "tokenizer.apply_chat_template(messages, tokenize=False)"
)
"""How messages of a chat become a text."""

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


def document_of_value(name: str, value: object, column: str | None = None) -> Document | None:
    """The document that one cell of a table, one JSON value or one Python object holds.

    A string is split into paragraphs at blank lines (single line breaks stay in the text); a list
    of strings is taken as the paragraphs themselves.  Nothing (``None``, blanks) gives None.

    Args:
        name: Of the document.
        value: What is there.
        column: Where it stands, for a refusal.

    Raises:
        CorpusError: The value is neither, or is not valid Unicode, or is messages of a chat.
    """
    draft = Draft(name)
    for paragraph in _paragraphs(name, value, column):
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


def holds_chat(value: object) -> bool:
    """Return whether a value, or what it is as JSON, is messages of a chat.

    These are objects with a role and a content.  Of a text of several lines the first counts as
    well, as lines of JSON are a chat each.
    """
    if isinstance(value, str):
        return any(holds_chat(_json(part)) for part in (value, value.lstrip().partition("\n")[0]))
    if isinstance(value, Mapping):
        return {"role", "content"} <= value.keys() or _are_messages(value.get("messages"))
    return _are_messages(value)


def require_text(text: object, name: str) -> None:
    """Refuse what is no text, or one without a word.

    Args:
        text: what is to be read.
        name: what it is called: ``text``, ``second text``.

    Raises:
        UsageError: it is so.
    """
    if not text and isinstance(text, str | list | tuple):
        raise UsageError(f"the {name} is empty; write at least one word.")
    if holds_chat(text):
        raise UsageError(
            f"the {name} is messages of a chat, which are not read as such; {TEMPLATE}, and read "
            "that text."
        )
    if not isinstance(text, str):
        raise UsageError(
            f"a text is one string, not a {type(text).__name__}; read several one by one, or give "
            "them to a study, such as headlight.survey."
        )
    if text.isspace():
        raise UsageError(f"the {name} is empty but for blanks; write at least one word.")


def refuse_chat(value: object, name: str, column: str | None = None) -> None:
    """Refuse messages of a chat where texts are read.

    Raises:
        CorpusError: The value is some.
    """
    if holds_chat(value):
        place = f"the column {column!r} holds" if column else "here are"
        raise CorpusError(
            f"{name}: {place} messages of a chat, which are not read as such; {TEMPLATE}, and read "
            "these texts."
        )


def _are_messages(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else ()
    return bool(items) and all(
        isinstance(item, Mapping) and {"role", "content"} <= item.keys() for item in items
    )


def _json(text: str) -> object:
    """Return the JSON of a text, if that is a list or an object."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
