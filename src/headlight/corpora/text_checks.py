"""Checks of texts: no text, no word, no character, or a chat."""

from headlight.chats import holds_chat
from headlight.errors import CorpusError, UsageError, per_door


def demand_characters(text: str, name: str) -> None:
    """Refuse characters that JSON can write and no text can hold.

    Raises:
        CorpusError: The text holds half of a surrogate pair.
    """
    # `isascii` is a flag of the string, by which most texts need no look at their characters.
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise CorpusError(
            f"{name}: the text holds half of a surrogate pair, which is no character; "
            "write the file again from the original text."
        )


def require_text(text: object, name: str) -> None:
    """Refuse a value that is no text, or a text without a word.

    Args:
        text: Text to be read.
        name: Name of the text: ``text``, ``second text``.

    Raises:
        UsageError: The value is no text, or has no word.
    """
    if isinstance(text, str | list | tuple) and not text:
        raise UsageError(f"the {name} is empty; write at least one word.")
    if holds_chat(text):
        if not isinstance(text, str):
            raise UsageError(f"the {name} is messages of a chat; a chat is read as the first text.")
        instead = per_door(
            python="give the list of its messages (json.loads)",
            command_line="name the file that it lies in with --chat",
            app="a chat is read as the text, or as the text to compare with",
        )
        raise UsageError(f"the {name} is the JSON of a chat; {instead}.")
    if isinstance(text, list | tuple):
        several = per_door(
            python="give them to a study, such as headlight.survey",
            command_line="give them to headlight survey",
            app="have them surveyed",
        )
        raise UsageError(
            f"a text is one string, not a {type(text).__name__}; read several one by one, or "
            f"{several}."
        )
    if not isinstance(text, str):
        raise UsageError(f"a text is one string, not a {type(text).__name__}; give it as one.")
    if text.isspace():
        raise UsageError(f"the {name} is empty but for blanks; write at least one word.")


def refuse_chat(value: object, name: str, column: str | None = None) -> None:
    """Refuse messages of a chat where texts are read, or where messages have no name.

    Raises:
        CorpusError: The value is messages of a chat.
    """
    if holds_chat(value):
        place = f"the column {column!r} holds" if column else "here is"
        raise CorpusError(
            f"{name}: {place} a chat that is written as a text, or stands alone; chats are read "
            'from lines {"messages": [...]}, or from Python as a list of messages each.'
        )
