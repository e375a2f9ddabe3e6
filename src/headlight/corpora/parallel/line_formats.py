"""Pairs in lines, one a line: between bars, in tables, as objects, or in two files."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from headlight.corpora.lines import Lines
from headlight.corpora.parallel import Column, TranslationPair, known_columns
from headlight.corpora.parallel.keys import Keys
from headlight.corpora.text.tables import json_object, table_rows
from headlight.errors import CorpusError

BARS = re.compile(r"(?<!\S)\|\|\|(?!\S)")
"""What stands between source and target, as a word of its own."""


def bar_pairs(lines: Lines) -> Iterator[TranslationPair]:
    """``source ||| target``; a blank line is an empty pair.

    Raises:
        CorpusError: There are no bars in a line, or more than once.
    """
    for line in lines:
        sides = BARS.split(line) if line.strip() else ["", ""]
        if len(sides) != 2:
            found = f"{len(sides) - 1} times" if len(sides) > 2 else "not there"
            raise CorpusError(
                f"{lines.place}: '|||' with blanks around it must stand once in the line, between "
                f"source and target, and is {found}; correct the line, or name the format of the "
                "file."
            )
        yield TranslationPair.of(lines.place, *sides)


def table_pairs(
    lines: Lines, columns: tuple[Column, Column] | None, dialect: type[csv.Dialect]
) -> Iterator[TranslationPair]:
    """Two columns of a table; a row of blanks is an empty pair.

    Columns that are called by name need a header.  If none are asked for, there is a header if it
    has names that are known; else source and target are the first two columns.

    Raises:
        CorpusError: There is no such column, a row is too short, or the table is malformed.
    """
    rows = table_rows(lines, dialect)
    place, first = next(rows, ("", None))
    if first is None:
        return
    names = columns or known_columns(first) or (1, 2)
    source, target = (_number(name, first, place) for name in names)
    if all(isinstance(name, int) for name in names):
        yield _of_row(place, first, source, target)
    for place, row in rows:
        yield _of_row(place, row, source, target)


def _number(name: Column, header: Sequence[str], place: str) -> int:
    """The number of a column, from 1."""
    if isinstance(name, int):
        return name
    if name not in header:
        names = ", ".join(map(repr, header)) or "none"
        raise CorpusError(
            f"{place}: there is no column {name!r}; name two of those there are ({names}), or give "
            "their numbers, from 1."
        )
    return header.index(name) + 1


def _of_row(place: str, row: Sequence[str], source: int, target: int) -> TranslationPair:
    if not any(field.strip() for field in row):
        return TranslationPair(place, "", "")
    if len(row) < max(source, target):
        raise CorpusError(
            f"{place}: source and target are in columns {source} and {target}, and the row has "
            f"{len(row)}; complete the row, or name the columns or the format."
        )
    return TranslationPair.of(place, row[source - 1], row[target - 1])


def json_pairs(lines: Lines, columns: tuple[Column, Column] | None) -> Iterator[TranslationPair]:
    """An object a line, as `Keys` says; a blank line is an empty pair.

    Raises:
        CorpusError: A line is no object, or lacks a key.
    """
    keys = None
    for line in lines:
        if not line.strip():
            yield TranslationPair(lines.place, "", "")
            continue
        row = json_object(line, lines.place)
        keys = keys or Keys.of(row, columns, lines.place)
        yield keys.pair(row, lines.place)


def beside(source: Lines, target: Lines) -> Iterator[TranslationPair]:
    """Line for line, the sources in one file and the targets in another.

    Raises:
        CorpusError: One file has more lines than the other.
    """
    for first, second in zip_longest(source, target):
        if first is None or second is None:
            longer, shorter = (source, target) if second is None else (target, source)
            raise CorpusError(
                f"{longer.place}: there is no line beside it in {shorter.name}, which ends after "
                f"line {shorter.number}; both files must have the same number of lines."
            )
        yield TranslationPair.of(source.place, first, second)
