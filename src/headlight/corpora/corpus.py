"""The one door: any source of text as a `Corpus`."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from headlight.corpora.compression import decompressed, open_bytes, without_compression
from headlight.corpora.files import files, printable
from headlight.corpora.hub import PREFIX, HubSource, read_hub
from headlight.corpora.lines import Lines
from headlight.corpora.text.document import Document, document_of_value
from headlight.corpora.text.plain import OPENING, read_lines, read_paragraphs, read_wikipedia
from headlight.corpora.text.tables import read_csv, read_jsonl, read_tsv
from headlight.errors import CorpusError, UnknownNameError, UsageError

Source = str | Path | Iterable[str]

PLAIN: dict[str, Callable[[Lines], Iterator[Document]]] = {
    "paragraphs": read_paragraphs,
    "lines": read_lines,
    "wikipedia": read_wikipedia,
}
TABLES: dict[str, Callable[[Lines, str | None], Iterator[Document]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
}
FORMATS = (*PLAIN, *TABLES)
"""The formats a file may have."""

SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in a fixed order, read while one iterates.

    It can be iterated again, unless it is standard input or an iterator.

    Attributes:
        source: What it was opened from, as reports show it.
    """

    source: str
    _read: Callable[[], Iterator[Document]] = field(repr=False)

    def __iter__(self) -> Iterator[Document]:
        """The documents.

        Raises:
            CorpusError: Something cannot be read, or there is no text at all.
        """
        empty = True
        for document in self._read():
            empty = False
            yield document
        if empty:
            raise CorpusError(f"{self.source} holds no text; nothing can be said about it.")


def open_corpus(source: Source, *, format: str | None = None, column: str | None = None) -> Corpus:
    """A corpus from a file, a pattern, a folder, standard input, a data set or Python strings.

    Files may be compressed (``.gz .xz .bz2 .zst``) and must be UTF-8.  Formats:

    * ``paragraphs``: plain text; a blank line ends a document, its lines are its paragraphs;
    * ``lines``: plain text; every line is a document;
    * ``wikipedia``: what WikiExtractor writes, ``<doc ...>`` to ``</doc>``;
    * ``jsonl``: an object per line, whose `column` is a string or a list of strings;
    * ``csv``, ``tsv``: a table with a header line.

    Args:
        source: A path, a pattern such as ``"texts/**/*.txt.gz"``, a folder, ``-`` for standard
            input, ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data set of the library ``datasets``,
            or an iterable of strings, each a document with blank lines between its paragraphs.
        format: One of `FORMATS`.  By default the suffix says it (``.jsonl .ndjson .json .csv
            .tsv``); another file is ``wikipedia`` if it begins with ``<doc``, else ``paragraphs``.
        column: Key or column that holds the text; by default ``text``, or the only one.

    Raises:
        UsageError: The format is unknown, or does not go with the source or the column.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    if column is not None and format in PLAIN:
        raise UsageError(f"the format {format!r} has no columns; leave out the column {column!r}.")
    if isinstance(source, Path):
        return _file_corpus(str(source), format, column)
    if not isinstance(source, str):
        return _string_corpus(source, format, column)
    if source == "-":
        return Corpus("standard input", _once(partial(_standard_input, format, column)))
    if source.startswith(PREFIX):
        return _hub_corpus(source, format, column)
    return _file_corpus(source, format, column)


def _file_corpus(source: str, format: str | None, column: str | None) -> Corpus:
    paths = files(source)

    def read() -> Iterator[Document]:
        for path in paths:
            yield from _file(path, format, column)

    return Corpus(printable(source), read)


def _hub_corpus(source: str, format: str | None, column: str | None) -> Corpus:
    if format is not None:
        raise UsageError(f"{source!r} has a format of its own; leave out the format {format!r}.")
    HubSource.parsed(source)  # complains now rather than at the first document
    return Corpus(source, partial(read_hub, source, column))


def _string_corpus(source: Iterable[str], format: str | None, column: str | None) -> Corpus:
    if format is not None or column is not None:
        raise UsageError("strings in memory have no format and no column; leave both out.")
    read = partial(_strings, source)
    return Corpus("strings in memory", _once(read) if isinstance(source, Iterator) else read)


def _strings(source: Iterable[str]) -> Iterator[Document]:
    for index, text in enumerate(source):
        document = document_of_value(f"text {index}", text)
        if document:
            yield document


def _file(path: Path, format: str | None, column: str | None) -> Iterator[Document]:
    with open_bytes(path) as stream:
        lines = Lines(stream, printable(path))
        yield from _documents(lines, format or _guess(path, lines), column)


def _standard_input(format: str | None, column: str | None) -> Iterator[Document]:
    lines = Lines(decompressed(cast("io.BufferedIOBase", sys.stdin.buffer)), "standard input")
    return _documents(lines, format or _guess(Path(), lines), column)


def _documents(lines: Lines, format: str, column: str | None) -> Iterator[Document]:
    if format in TABLES:
        return TABLES[format](lines, column)
    if column is not None:
        raise UsageError(
            f"{lines.name} is read as {format!r}, which has no columns; "
            f"name its format, or leave out the column {column!r}."
        )
    return PLAIN[format](lines)


def _guess(path: Path, lines: Lines) -> str:
    suffix = without_compression(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    return "wikipedia" if lines.first().startswith(OPENING) else "paragraphs"


def _once(read: Callable[[], Iterator[Document]]) -> Callable[[], Iterator[Document]]:
    """`read`, which can be called only one time."""
    used = False

    def guarded() -> Iterator[Document]:
        nonlocal used
        if used:
            raise CorpusError(
                "this corpus can be read only once, and has been; save it to a file first."
            )
        used = True
        return read()

    return guarded
