"""Tables: rows and fields between commas or tabs, below a header."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence

from headlight.corpora.lines import LINE_LIMIT, Lines
from headlight.errors import CorpusError


class CommaSeparated(csv.excel):
    """Strict dialect of RFC 4180: an unclosed quotation mark is an error, not one long field."""

    strict = True


class TabSeparated(csv.excel_tab):
    """Dialect of tabs between fields, where quotation marks are characters of the text."""

    quoting = csv.QUOTE_NONE


SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
"""Signs between the columns of tables, and the name of several."""


def check_header(header: Sequence[str], place: str, dialect: type[csv.Dialect]) -> None:
    """Refuse the header of a table whose columns are not told apart.

    Raises:
        CorpusError: Columns are separated by something else, or two have one name.
    """
    separator = SEPARATORS[dialect.delimiter]
    other = next((sign for sign in SEPARATORS if len(header) == 1 and sign in header[0]), None)
    if other:
        raise CorpusError(
            f"{place}: the header has {SEPARATORS[other]} and no {separator}, which separate "
            f"columns here; save the table with {separator}, or, if it is plain text, name its "
            "format."
        )
    twice = next((name for name in header if name.strip() and header.count(name) > 1), None)
    if twice is not None:
        raise CorpusError(
            f"{place}: the header has {twice!r} twice; give each column a name of its own."
        )


def check_width(fields: Sequence[str], width: int, place: str, dialect: type[csv.Dialect]) -> None:
    """Refuse a row of a table with more fields than the header, or fewer.

    Raises:
        CorpusError: The row has another number of fields.
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
    """Yield the place and the fields of every row, the header first; a blank line has no fields.

    Raises:
        CorpusError: The table is malformed.
    """
    # The limit belongs to the whole process: it is only ever raised, to what a line may hold.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    row_lines: list[str] = []
    # The reader does not say where the quotation mark is that is never closed; its lines do.
    rows = csv.reader(_record_lines(lines, row_lines), dialect)
    while True:
        place = f"{lines.name}:{lines.number + 1}"
        row_lines.clear()
        try:
            row = next(rows, None)
        except csv.Error as error:
            first = lines.number - len(row_lines) + 1 + _line_of_open_quote("".join(row_lines))
            more = "" if first == lines.number else f" at line {lines.number}"
            raise CorpusError(
                f"{lines.name}:{first}: the table is malformed ({error}{more}), in the field that "
                "begins here; close its quotation marks, as RFC 4180 says."
            ) from error
        if row is None:
            return
        yield place, row


def _record_lines(lines: Lines, row_lines: list[str]) -> Iterator[str]:
    for line in lines:
        row_lines.append(line)
        yield line


QUOTED = re.compile(r'(?<![^,\r\n])"[^"]*(?:""[^"]*)*("(?=[,\r\n]|\Z))?')
"""A quoted field; the group is its end, where it has one."""


def _line_of_open_quote(row: str) -> int:
    open_fields = (field for field in QUOTED.finditer(row) if field[1] is None)
    field = next(open_fields, None)
    return row.count("\n", 0, field.start()) if field else row.count("\n", 0, len(row) - 1)


Row = tuple[str, Mapping[str, object]]
"""File and line of a row, and its values by the names of the columns."""


def tab_rows(lines: Lines) -> Iterator[Row]:
    """Yield rows of a table with a header; tabs separate fields, quotation marks are characters.

    Raises:
        CorpusError: A row has more or fewer fields than the header.
    """
    header = tab_fields(next(lines, ""))
    check_header(header, lines.place, TabSeparated)
    for line in lines:
        if line.strip():
            yield lines.place, named_fields(header, tab_fields(line), lines.place)


def comma_rows(lines: Lines) -> Iterator[Row]:
    """Yield rows of a table with a header; fields may be quoted, and may then span lines.

    Raises:
        CorpusError: The table is malformed, or a row has more or fewer fields than the header.
    """
    rows = table_rows(lines, CommaSeparated)
    place, header = next(rows, ("", []))
    check_header(header, place, CommaSeparated)
    for place, row in rows:
        if row:
            yield place, named_fields(header, row, place, CommaSeparated)


def tab_fields(line: str) -> list[str]:
    """Return the fields between the tabs of a line."""
    return line.removesuffix("\n").removesuffix("\r").split("\t")


def named_fields(
    header: Sequence[str],
    fields: Sequence[str],
    place: str,
    dialect: type[csv.Dialect] = TabSeparated,
) -> dict[str, str]:
    """Return the fields of a row by the names of the header."""
    check_width(fields, len(header), place, dialect)
    return dict(zip(header, fields, strict=True))


DIGITS = 9


def number(text: str) -> int | None:
    """Return a number that is written with digits only, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None
