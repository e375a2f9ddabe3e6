"""JSON lines: one object per line."""

import json
from collections.abc import Iterator

from headlight.corpora.columns import text_column
from headlight.corpora.document import Document, document_of_value
from headlight.corpora.lines import Lines
from headlight.errors import CorpusError


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
