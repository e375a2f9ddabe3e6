"""Texts in a column: JSON lines, and tables with a header line."""

import csv
import json
import re
from collections.abc import Iterator, Sequence

from headlight.corpora.lines import LINE_LIMIT, Lines
from headlight.corpora.text import Document, document_of_value, refuse_chat
from headlight.errors import CorpusError

DEFAULT = "text"


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


def read_jsonl(lines: Lines, column: str | None) -> Iterator[Document]:
    """One document per line; the key `column` holds its text, or a list of its paragraphs.

    Blank lines, and objects whose text is empty or ``null``, are left out.

    Raises:
        CorpusError: A line is not a JSON object, or lacks the key.
    """
    for line in lines:
        if not line.strip():
            continue
        row = json_object(line, lines.place)
        if column is None and DEFAULT not in row:
            refuse_chat(row, lines.place, "messages")
        name = text_column(column, list(row), lines.place)
        document = document_of_value(lines.place, row[name], name)
        if document:
            yield document


def json_object(line: str, place: str) -> dict[str, object]:
    """The object that a line is.

    Raises:
        CorpusError: It is none.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"{place}: the line is not JSON ({error}); every line must be one whole object."
        ) from error
    if not isinstance(row, dict):
        refuse_chat(row, place)
        raise CorpusError(
            f'{place}: the line must be a JSON object such as {{"text": ...}}, '
            f"not {type(row).__name__}."
        )
    return row


class CommaSeparated(csv.excel):
    """RFC 4180, and strict: a quotation mark that never closes is an error, not one long field."""

    strict = True


class TabSeparated(csv.excel_tab):
    """Tabs separate fields and nothing else counts: quotation marks are characters of the text."""

    quoting = csv.QUOTE_NONE


def read_csv(lines: Lines, column: str | None) -> Iterator[Document]:
    """One document per row of a comma-separated table; fields may be quoted and span lines."""
    return _rows(lines, column, CommaSeparated)


def read_tsv(lines: Lines, column: str | None) -> Iterator[Document]:
    """One document per line of a tab-separated table, without quoting."""
    return _rows(lines, column, TabSeparated)


def _rows(lines: Lines, column: str | None, dialect: type[csv.Dialect]) -> Iterator[Document]:
    """One document per row; rows whose text is empty are left out.

    Raises:
        CorpusError: The table is malformed, a row is too short, or the column is missing.
    """
    rows = table_rows(lines, dialect)
    _, header = next(rows, ("", None))
    if header is None:
        return
    name = text_column(column, header, lines.place)
    index = header.index(name)
    for place, row in rows:
        if row and len(row) <= index:
            raise CorpusError(
                f"{place}: the row has {len(row)} fields, but the text is in field {index + 1}; "
                "complete the row."
            )
        document = document_of_value(place, row[index], name) if row else None
        if document:
            yield document


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
