"""Tables with a header line: comma-separated or tab-separated."""

import csv
from collections.abc import Iterator

from headlight.corpora.columns import text_column
from headlight.corpora.document import Document, document_of_value
from headlight.corpora.lines import LINE_LIMIT, Lines
from headlight.errors import CorpusError


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
    # The limit belongs to the whole process: it is only ever raised, to what a line may hold.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    rows = csv.reader(lines, dialect)
    header = next_row(rows, lines)
    if header is None:
        return
    index = header.index(text_column(column, header, lines.place))
    while True:
        place = f"{lines.name}:{lines.number + 1}"
        row = next_row(rows, lines)
        if row is None:
            return
        if row and len(row) <= index:
            raise CorpusError(
                f"{place}: the row has {len(row)} fields, but the text is in field {index + 1}; "
                "complete the row."
            )
        document = document_of_value(place, row[index]) if row else None
        if document:
            yield document


def next_row(rows: Iterator[list[str]], lines: Lines) -> list[str] | None:
    """The next row of a table; None at its end.

    Raises:
        CorpusError: The table is malformed.
    """
    try:
        return next(rows, None)
    except csv.Error as error:
        raise CorpusError(
            f"{lines.place}: the table is malformed ({error}); quote fields as RFC 4180 says."
        ) from error
