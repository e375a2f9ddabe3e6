"""Lines that are JSON objects."""

import json
from collections.abc import Iterator
from typing import Any

from headlight.corpora.lines import Lines
from headlight.corpora.tables import Row
from headlight.corpora.text_checks import refuse_chat
from headlight.errors import CorpusError


def json_object(line: str, place: str) -> dict[str, object]:
    """Return the JSON object of a line.

    Raises:
        CorpusError: The line is no JSON object.
    """
    try:
        row = json.loads(line, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:  # a line of brackets exhausts the stack
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


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; by itself the library would keep the last of equal keys."""
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"the key {twice!r} is there twice")
    return row


def json_rows(lines: Lines) -> Iterator[Row]:
    """Yield one object per line.

    Raises:
        CorpusError: A line is no object.
    """
    for line in lines:
        if line.strip():
            yield lines.place, json_object(line, lines.place)
