"""Texts from files of several formats."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headlight.chats import Chat, holds_chat, is_chat
from headlight.corpora.files import DOCUMENT_LIMIT, LINE_LIMIT, Lines
from headlight.errors import CorpusError, UsageError, per_door

BLANK_LINE = re.compile(r"\n\s*\n")
BLANK_LINES_BEFORE = re.compile(r"\A(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Document:
    """A text that stands for itself.

    Attributes:
        name: Where it begins, for messages: ``"a.txt:12"`` (file and line) or ``"hf:imdb[3]"``.
        paragraphs: Its units in order, of which none is blank.  What a unit is depends on the
            format: a paragraph of an encyclopedia or one line of plain text, stripped; a paragraph
            of a string, with its indentation; the whole text, in the format ``raw`` with all blanks
            around it; of a chat, the chat as JSON.
        chat: The messages that it is, if it is a chat.
    """

    name: str
    paragraphs: tuple[str, ...]
    chat: Chat | None = None

    def text_paragraphs(self) -> tuple[str, ...]:
        """Return the paragraphs of what is no chat.

        Raises:
            CorpusError: It is one.
        """
        if self.chat is not None:
            raise CorpusError(
                f"{self.name}: here is a chat, where paragraphs of texts are needed; name a column "
                "that holds texts, or ask what reads each text by itself (do without pairs)."
            )
        return self.paragraphs


class Draft:
    """A document that is being read, unit by unit, and may not grow beyond `DOCUMENT_LIMIT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._paragraphs: list[str] = []
        self._size = 0

    def add(self, text: str, *, indented: bool = False) -> None:
        """Append a unit, without blanks around it; blank ones are left out.

        Args:
            text: the unit.
            indented: Keep the indentation of its first line, as it means something in code.

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
        """The document, or None when it holds no text."""
        return Document(self.name, tuple(self._paragraphs)) if self._paragraphs else None


def document_of_value(name: str, value: object, column: str | None = None) -> Document | None:
    """The document that one cell of a table, one JSON value or one Python object holds.

    A string is split into paragraphs at blank lines (single line breaks stay in the text); a list
    of strings is taken as the paragraphs themselves; a list of messages is a chat.  Nothing
    (``None``, blanks) gives None.

    Args:
        name: Of the document.
        value: What is there.
        column: Where it stands, for a refusal.

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


def demand_characters(text: str, name: str) -> None:
    """Refuse what JSON can write and no text can hold.

    Raises:
        CorpusError: The text holds half of a surrogate pair.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise CorpusError(
            f"{name}: the text holds half of a surrogate pair, which is no character; "
            "write the file again from the original text."
        )


def require_text(text: object, name: str) -> None:
    """Refuse what is no text, or one without a word.

    Args:
        text: what is to be read.
        name: what it is called: ``text``, ``second text``.

    Raises:
        UsageError: it is so.
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
        CorpusError: The value is some.
    """
    if holds_chat(value):
        place = f"the column {column!r} holds" if column else "here is"
        raise CorpusError(
            f"{name}: {place} a chat that is written as a text, or stands alone; chats are read "
            'from lines {"messages": [...]}, or from Python as a list of messages each.'
        )


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


DEFAULT, MESSAGES = "text", "messages"
"""Names of the column of texts, and of that of chats, where no other is named."""


def text_column(column: str | None, available: Sequence[str], place: str) -> str:
    """The column asked for; else ``text``; else the only one there is.

    Raises:
        CorpusError: There is no such column, or it cannot be told which one is meant.
    """
    if column is None and DEFAULT not in available and len(available) == 1:
        return available[0]
    wanted = column if column is not None else DEFAULT
    if wanted not in available:
        names = ", ".join(map(repr, available)) or "none"
        raise CorpusError(
            f"{place}: there is no column {wanted!r}; name one of those there are: {names}."
        )
    return wanted


def read_jsonl(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """One document per line; the key `column` holds its text, a list of its paragraphs, or a chat.

    Without a name, that is ``text``, or ``messages``, or the only one there is.  Blank lines
    are passed over; objects whose text is empty or ``null`` are None.

    Raises:
        CorpusError: A line is not a JSON object, or lacks the key.
    """
    for line in lines:
        if not line.strip():
            continue
        row = json_object(line, lines.place)
        of_chat = column is None and DEFAULT not in row and MESSAGES in row
        name = MESSAGES if of_chat else text_column(column, list(row), lines.place)
        yield document_of_value(lines.place, row[name], name)


def json_object(line: str, place: str) -> dict[str, object]:
    """The object that a line is.

    Raises:
        CorpusError: It is none.
    """
    try:
        row = json.loads(line, object_pairs_hook=_with_each_key_once)
    except (ValueError, RecursionError) as error:
        cure = "every line must be one whole object"
        if line.strip() in ("{", "[", "[{"):
            cure = f"{cure}, as 'jq -c' writes it ('jq -c .[]' of a list)"
        raise CorpusError(f"{place}: the line is not JSON ({error}); {cure}.") from error
    if not isinstance(row, dict):
        refuse_chat(row, place)
        raise CorpusError(
            f'{place}: the line must be a JSON object such as {{"text": ...}}, '
            f"not {type(row).__name__}."
        )
    return row


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; by itself the library would keep the last of equal keys."""
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"the key {twice!r} is there twice")
    return row


class CommaSeparated(csv.excel):
    """RFC 4180, and strict: a quotation mark that never closes is an error, not one long field."""

    strict = True


class TabSeparated(csv.excel_tab):
    """Tabs separate fields and nothing else counts: quotation marks are characters of the text."""

    quoting = csv.QUOTE_NONE


def read_csv(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """One document per row of a comma-separated table; fields may be quoted and span lines."""
    return _rows(lines, column, CommaSeparated)


def read_tsv(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """One document per line of a tab-separated table, without quoting."""
    return _rows(lines, column, TabSeparated)


def _rows(
    lines: Lines, column: str | None, dialect: type[csv.Dialect]
) -> Iterator[Document | None]:
    """One document per row; None for rows whose text is empty."""
    rows = table_rows(lines, dialect)
    place, header = next(rows, ("", None))
    if header is None:
        return
    check_header(header, place, dialect)
    name = text_column(column, header, lines.place)
    index = header.index(name)
    for place, row in rows:
        if any(field.strip() for field in row):
            check_width(row, len(header), place, dialect)
            yield document_of_value(place, row[index], name)
        elif row:
            yield None


SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
"""Signs between the columns of tables, and the name of several."""


def check_header(header: Sequence[str], place: str, dialect: type[csv.Dialect]) -> None:
    """Refuse the header of a table whose columns are not told apart.

    Raises:
        CorpusError: Columns are separated by something else, or two have one name.
    """
    own = SEPARATORS[dialect.delimiter]
    other = next((sign for sign in SEPARATORS if len(header) == 1 and sign in header[0]), None)
    if other:
        raise CorpusError(
            f"{place}: the header has {SEPARATORS[other]} and no {own}, which separate columns "
            f"here; save the table with {own}, or, if it is plain text, name its format."
        )
    twice = next((name for name in header if name.strip() and header.count(name) > 1), None)
    if twice is not None:
        raise CorpusError(
            f"{place}: the header has {twice!r} twice; give each column a name of its own."
        )


def check_width(fields: Sequence[str], width: int, place: str, dialect: type[csv.Dialect]) -> None:
    """Refuse a row of a table with more fields than the header, or fewer.

    Raises:
        CorpusError: It is one.
    """
    if len(fields) == width:
        return
    cure = "complete it"
    if len(fields) > width:
        marks = "put texts with commas into quotation marks"
        cure = marks if dialect.delimiter == "," else "take tabs out of texts"
    raise CorpusError(
        f"{place}: the row has {len(fields)} fields, and should have {width}; {cure}, or leave it "
        "out."
    )


def table_rows(lines: Lines, dialect: type[csv.Dialect]) -> Iterator[tuple[str, list[str]]]:
    """The place and the fields of every row, the header first; a blank line has no fields.

    Raises:
        CorpusError: The table is malformed.
    """
    # The limit belongs to the whole process: it is only ever raised, to what a line may hold.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    own: list[str] = []  # the lines of the row
    rows = csv.reader(_recorded(lines, own), dialect)
    while True:
        place = f"{lines.name}:{lines.number + 1}"
        own.clear()
        try:
            row = next(rows, None)
        except csv.Error as error:
            first = lines.number - len(own) + 1 + _line_of_open_quote("".join(own))
            more = "" if first == lines.number else f" at line {lines.number}"
            raise CorpusError(
                f"{lines.name}:{first}: the table is malformed ({error}{more}), in the field that "
                "begins here; close its quotation marks, as RFC 4180 says."
            ) from error
        if row is None:
            return
        yield place, row


def _recorded(lines: Lines, own: list[str]) -> Iterator[str]:
    for line in lines:
        own.append(line)
        yield line


QUOTED = re.compile(r'(?<![^,\r\n])"[^"]*(?:""[^"]*)*("(?=[,\r\n]|\Z))?')
"""A quoted field; the group is its end, where it has one."""


def _line_of_open_quote(row: str) -> int:
    """Return at which line of a malformed row, from 0, the field begins that does not end."""
    open_fields = (field for field in QUOTED.finditer(row) if field[1] is None)
    field = next(open_fields, None)
    return row.count("\n", 0, field.start()) if field else row.count("\n", 0, len(row) - 1)
