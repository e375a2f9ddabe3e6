"""Texts in a column: JSON lines, and tables with a header line."""

import csv
import json
from collections.abc import Iterator, Sequence

from headlight.corpora.lines import LINE_LIMIT, Lines
from headlight.corpora.text import Document, document_of_value
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
        value = row[text_column(column, list(row), lines.place)]
        document = document_of_value(lines.place, value)
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
    index = header.index(text_column(column, header, lines.place))
    for place, row in rows:
        if row and len(row) <= index:
            raise CorpusError(
                f"{place}: the row has {len(row)} fields, but the text is in field {index + 1}; "
                "complete the row."
            )
        document = document_of_value(place, row[index]) if row else None
        if document:
            yield document


def table_rows(lines: Lines, dialect: type[csv.Dialect]) -> Iterator[tuple[str, list[str]]]:
    """The place and the fields of every row, the header first; a blank line has no fields.

    Raises:
        CorpusError: The table is malformed.
    """
    # The limit belongs to the whole process: it is only ever raised, to what a line may hold.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    rows = csv.reader(lines, dialect)
    while True:
        place = f"{lines.name}:{lines.number + 1}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise CorpusError(
                f"{lines.place}: the table is malformed ({error}); quote fields as RFC 4180 says."
            ) from error
        if row is None:
            return
        yield place, row
