"""Corpora of texts: from files, data sets, standard input or strings."""

from collections.abc import Iterable, Iterator
from functools import partial

from headlight.chats import Readable
from headlight.corpora.compression import decompress
from headlight.corpora.corpus import (
    Corpus,
    CorpusCounts,
    corpus_in_memory,
    corpus_of_files,
    corpus_read_once,
    with_text,
)
from headlight.corpora.documents import Document, document_of_value
from headlight.corpora.formats import find_format, format_table
from headlight.corpora.hub import PREFIX, HubSource, hub_rows
from headlight.corpora.json_lines import with_path
from headlight.corpora.lines import Lines
from headlight.corpora.text_formats import FORMATS, PLAIN, TABLES, guess_format, text_column
from headlight.errors import UnknownNameError, UsageError
from headlight.files import Location, standard_input

Source = str | Location | Iterable[Readable]


def open_corpus(
    source: Source | Corpus[Document], *, format: str | None = None, column: str | None = None
) -> Corpus[Document]:
    """Open a corpus of a file, a pattern, a folder, standard input, a data set or Python strings.

    Files may be compressed (``.gz .xz .bz2 .zst``) or archives (``.tar``, also compressed, and
    ``.zip``), which are read member by member, and must be UTF-8.  Formats:

    * ``paragraphs``: plain text; a blank line ends a document, its lines are its paragraphs;
    * ``lines``: plain text; every line is a document;
    * ``raw``: plain text; every file is a document, with its line breaks and its indentation;
    * ``wikipedia``: the output of WikiExtractor, ``<doc ...>`` to ``</doc>``;
    * ``jsonl``: an object per line, or a file that is an array of objects or of strings; the
      `column` of an object is a string, a list of strings, or a chat;
    * ``csv``, ``tsv``: a table with a header line.

    Args:
        source: Path, pattern such as ``"texts/**/*.txt.gz"``, folder, ``-`` for standard input,
            ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data set of the library ``datasets``, an
            iterable of strings, each a document with blank lines between its paragraphs, or an open
            corpus, which stays as it is.
        format: Format, one of `FORMATS`, or the name of a `headlight.corpora.Format` of another
            package.  By default the suffix says it (``.jsonl .ndjson .json .csv .tsv``; programs,
            such as ``.py``, are ``raw``); another file is ``wikipedia`` if it begins with ``<doc``,
            else ``paragraphs``.
        column: Key or column that holds the text; by default ``text``, or the only one.  Of objects
            in objects the keys with dots between, ``data.text``.

    Raises:
        UsageError: The format is unknown, or does not go with the source or the column; when it is
            read, a file is a treebank.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None and format not in FORMATS:
        return _open_by(format, source, column)
    if column is not None and format in PLAIN:
        raise UsageError(f"the format {format!r} has no columns; leave out the column {column!r}.")
    if not isinstance(source, str | Location):
        return _open_in_memory(source, format, column)
    if source == "-":
        return corpus_read_once("standard input", partial(_standard_input, format, column))
    if isinstance(source, str) and source.startswith(PREFIX):
        return _open_hub(source, format, column)

    def read(lines: Lines, counts: CorpusCounts) -> Iterator[Document]:
        return _documents(lines, format, column, counts)

    return corpus_of_files(source, "text", read)


def _open_by(name: str, source: Source | Corpus[Document], column: str | None) -> Corpus[Document]:
    """Open texts by a format of another package."""
    row = find_format(name)
    if row is None or row.holds != "texts":
        others = (known.name for known in format_table().values() if known.holds == "texts")
        raise UnknownNameError("format", name, (*FORMATS, *others))
    if column is not None:
        raise UsageError(f"the format {name!r} has no columns; leave out the column {column!r}.")
    if not isinstance(source, str | Location):
        raise UsageError(f"the format {name!r} is read from files; give a path.")
    return row.open(str(source))


def _open_hub(source: str, format: str | None, column: str | None) -> Corpus[Document]:
    """Return a corpus of one document per row; without COLUMN of ``text``, or the only column."""
    parts = HubSource.parse(source, format)  # complains now rather than at the first document
    label = source.replace("\n", " ")

    def documents() -> Iterator[Document | None]:
        for index, row in enumerate(hub_rows(parts, label)):
            place, wanted = f"{label}[{index}]", column or parts.column
            row = with_path(row, wanted)
            name = text_column(wanted, list(row), place)
            yield document_of_value(place, row[name], name)

    return Corpus(label, lambda counts: with_text(documents(), counts))


def _open_in_memory(
    source: Iterable[Readable] | Corpus[Document], format: str | None, column: str | None
) -> Corpus[Document]:
    if column is not None:
        raise UsageError(f"only tables have columns; leave out the column {column!r}.")
    return corpus_in_memory(source, "text", "strings in memory", format=format, read=_strings)


def _strings(source: Iterable[Readable]) -> Iterator[Document | None]:
    for index, text in enumerate(source):
        yield document_of_value(f"text {index}", text)


def _standard_input(
    format: str | None, column: str | None, counts: CorpusCounts
) -> Iterator[Document]:
    stream = decompress(standard_input())
    return _documents(Lines(stream, "standard input"), format, column, counts)


def _documents(
    lines: Lines, format: str | None, column: str | None, counts: CorpusCounts
) -> Iterator[Document]:
    format = format or guess_format(lines)
    if format in TABLES:
        return with_text(TABLES[format](lines, column), counts)
    if column is not None:
        raise UsageError(
            f"{lines.name} is read as {format!r}, which has no columns; "
            f"name its format, or leave out the column {column!r}."
        )
    return with_text(PLAIN[format](lines, counts), counts)
