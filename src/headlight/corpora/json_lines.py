"""JSON lines and arrays: objects, and paths into them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from headlight.corpora.lines import DOCUMENT_LIMIT, Lines
from headlight.corpora.tables import Row
from headlight.corpora.text_checks import refuse_chat
from headlight.errors import CorpusError


def json_object(line: str, place: str) -> dict[str, object]:
    """Return the JSON object of a line.

    Raises:
        CorpusError: The line is no JSON object.
    """
    try:
        row = DECODER.decode(line)
    except (ValueError, RecursionError) as error:  # a line of brackets exhausts the stack
        cure = "every line must be one whole object, or the file one array"
        if line.strip() == "{":
            cure = f"{cure}; 'jq -c' writes objects so"
        raise CorpusError(f"{place}: the line is not JSON ({error}); {cure}.") from error
    return demand_object(row, place, "line")


def demand_object(row: object, place: str, name: str = "element") -> dict[str, object]:
    """Return a value that is a JSON object.

    Raises:
        CorpusError: It is something else.
    """
    if not isinstance(row, dict):
        refuse_chat(row, place)
        raise CorpusError(
            f'{place}: the {name} must be a JSON object such as {{"text": ...}}, '
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


DECODER = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)
SIGN = re.compile(r"[^ \t\r\n]")


def json_rows(lines: Lines) -> Iterator[Row]:
    """Yield the objects of a file: one per line, or those of an array.

    Raises:
        CorpusError: A line or an element is no object.
    """
    for place, value in json_values(lines):
        yield place, demand_object(value, place)


def json_values(lines: Lines) -> Iterator[tuple[str, object]]:
    """Yield place and value: the object of each line, or the elements of a file that is an array.

    Of an array only some lines are held, so that it may be larger than memory; elements are
    counted from 0, behind the line in which they begin.

    Raises:
        CorpusError: A line is no object, or the array is malformed.
    """
    seen = False
    for line in lines:
        if line.lstrip().startswith("[") and not seen:
            yield from _elements(lines, line)
        elif line.strip():
            seen = True
            yield lines.place, json_object(line, lines.place)


def _elements(lines: Lines, text: str) -> Iterator[tuple[str, object]]:
    """Yield the elements of an array that begins in a line; no more of it is held than needed."""
    at, line, number = text.index("[") + 1, lines.number, 0
    sign = ","
    while sign == ",":
        start = _next_sign(text, at)
        line, at = line + text.count("\n", at, start), start
        place = f"{lines.name}:{line}[{number}]"
        if not number and text.startswith("]", at):
            sign, at = "]", at + 1
            continue
        value, end = _decoded(text, at, place)
        if end == len(text):
            text, at = _with_more(text[at:], lines, place), 0
            continue
        yield place, value
        sign, number = text[end], number + 1
        line, at = line + text.count("\n", at, end), end + 1
    if sign != "]":
        raise CorpusError(f"{place}: behind this element of the array must come a comma or ].")
    if text[at:].strip() or any(line.strip() for line in lines):
        raise CorpusError(f"{lines.place}: the file goes on behind its array; leave that out.")


def _decoded(text: str, at: int, place: str) -> tuple[object, int]:
    """Return the value that begins there, and the place of the next sign: the end, where cut."""
    try:
        value, end = DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        stop = error.pos if isinstance(error, json.JSONDecodeError) else at
        if text[stop:].strip():
            raise CorpusError(
                f"{place}: the element is not JSON ({error}); correct it, or write one whole "
                "object per line."
            ) from error
        return None, len(text)
    return value, _next_sign(text, end)


def _next_sign(text: str, at: int) -> int:
    sign = SIGN.search(text, at)
    return sign.start() if sign else len(text)


def _with_more(text: str, lines: Lines, place: str) -> str:
    """Return a text with as much again, so that a long element is not tried line by line."""
    parts, size = [text], 0
    while size <= len(text) <= DOCUMENT_LIMIT and (line := next(lines, "")):
        parts.append(line)
        size += len(line)
    if not size:
        raise CorpusError(
            f"{place}: the array is cut short here, or the element is longer than "
            f"{DOCUMENT_LIMIT:,} characters; correct the file, or leave the element out."
        )
    return "".join(parts)


def with_path(row: Mapping[str, object], name: str | None) -> Mapping[str, object]:
    """Return a row with the value that a path leads to, by its whole name; without one, the row.

    Args:
        row: Values by key; a key that is written with dots comes before a path.
        name: Key, or keys of objects within one another, with dots between.
    """
    if name is None or name in row:
        return row
    value: object = row
    for key in name.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return row
        value = value[key]
    return {**row, name: value}
