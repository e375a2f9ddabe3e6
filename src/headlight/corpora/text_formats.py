"""Formats of text: paragraphs, lines, raw, wikipedia, JSON lines, CSV and TSV."""

import csv
from collections.abc import Callable, Iterator, Sequence

from headlight.chats import HOLDERS
from headlight.corpora.corpus import CorpusCounts
from headlight.corpora.documents import Document, Draft, document_of_value
from headlight.corpora.file_kinds import markup_of
from headlight.corpora.json_lines import demand_object, json_values, with_path
from headlight.corpora.lines import Lines
from headlight.corpora.tables import (
    CommaSeparated,
    TabSeparated,
    check_header,
    check_width,
    table_rows,
)
from headlight.corpora.text_checks import refuse_chat
from headlight.errors import CorpusError, UsageError, setting

DEFAULT = "text"
"""Name of the column of texts, where no other is named."""


def text_column(column: str | None, available: Sequence[str], place: str) -> str:
    """Return the requested column; else ``text``; else the only one there is.

    Raises:
        CorpusError: There is no such column, or it is unclear which column is meant.
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


def read_jsonl(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """Yield a document per line, or per element of a file that is an array.

    The key `column`, or path of keys, holds its text, list of paragraphs, or chat.  Without a name,
    the key is ``text``, one of `HOLDERS`, or the only one there is.  Elements of an array may be
    texts themselves.  Blank lines are passed over; objects whose text is empty or ``null`` are
    None.

    Raises:
        CorpusError: A line or element is not a JSON object, or lacks the key.
    """
    for place, value in json_values(lines):
        if isinstance(value, str) and column is None:
            yield document_of_value(place, value)
            continue
        row = with_path(demand_object(value, place), column)
        name = column
        if column is None and DEFAULT not in row:
            name = next((holder for holder in HOLDERS if holder in row), None)
            if name is None:
                refuse_chat(row, place)  # a message that stands alone
        name = text_column(name, list(row), place)
        yield document_of_value(place, row[name], name)


def read_csv(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """Return a document for each row of a table with commas; fields may be quoted, span lines."""
    return _rows(lines, column, CommaSeparated)


def read_tsv(lines: Lines, column: str | None) -> Iterator[Document | None]:
    """Return a document for each line of a table with tabs, without quoting."""
    return _rows(lines, column, TabSeparated)


def _rows(
    lines: Lines, column: str | None, dialect: type[csv.Dialect]
) -> Iterator[Document | None]:
    """Yield one document per row; None for rows whose text is empty."""
    rows = table_rows(lines, dialect)
    place, header = next(rows, ("", None))
    if header is None:
        return
    check_header(header, place, dialect)
    name = text_column(column, header, lines.place)
    index = header.index(name)
    for place, row in rows:
        if any(field.strip() for field in row):
            check_width(row, len(header), place, dialect)
            yield document_of_value(place, row[index], name)
        elif row:  # the csv module gives no fields for a blank line, which is no row
            yield None


Reader = Callable[[Lines, CorpusCounts], Iterator[Document | None]]
"""Function from the lines of a file to its documents; None for a document without a text."""


def read_paragraphs(lines: Lines, counts: CorpusCounts) -> Iterator[Document | None]:
    """Yield documents that blank lines end; every line of a document is one of its paragraphs.

    With one sentence per line this is also the input format of Clark et al. (2019).
    """
    draft: Draft | None = None
    for line in lines:
        if line.strip():
            draft = draft or Draft(lines.place)
            draft.add(line)
        elif draft:
            yield _finish_draft(draft, counts)
            draft = None
    if draft:
        yield _finish_draft(draft, counts)


def _finish_draft(draft: Draft, counts: CorpusCounts) -> Document | None:
    document = draft.finish()
    if document and len(document.paragraphs) > 1:
        counts.joined_lines += len(document.paragraphs)
    return document


def read_lines(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """Yield every line as a document of one paragraph; blank lines are left out."""
    for line in lines:
        text = line.strip()
        if text:
            yield Document(lines.place, (text,))


def read_raw(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """Yield a file as a document, with its line breaks, its indentation and its blank lines."""
    text = "".join(lines.whole("file", "divide it"))
    yield Document(f"{lines.name}:1", (text,)) if text.strip() else None


OPENING = "<doc "
CLOSING = "</doc>"


def read_wikipedia(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """Yield one document per article, without its title, the first line after ``<doc ...>``.

    Blank lines separate paragraphs; the lines of one paragraph are joined by a blank.  Articles
    that hold nothing but a title are None.

    Raises:
        CorpusError: There is text outside the articles, or an article does not end.
    """
    for line in lines:
        if line.startswith(OPENING):
            yield _article(lines)
        elif line.strip():
            raise CorpusError(
                f"{lines.place}: there is text outside <doc ...> and </doc>; if this is plain "
                "text, read it with the format 'paragraphs'."
            )


def _article(lines: Lines) -> Document | None:
    draft = Draft(lines.place)
    body = _body(lines, draft.name)
    for line in body:  # blank lines may come before the title
        if line:
            break
    paragraph: list[str] = []
    for line in body:
        if line:
            paragraph.append(line)
        else:
            draft.add(" ".join(paragraph))
            paragraph = []
    draft.add(" ".join(paragraph))
    return draft.finish()


def _body(lines: Lines, place: str) -> Iterator[str]:
    """Yield the stripped lines up to ``</doc>``."""
    for line in lines:
        stripped = line.strip()
        if stripped == CLOSING:
            return
        if line.startswith(OPENING):
            break
        yield stripped
    raise CorpusError(
        f"{place}: the article that begins here has no </doc>; the file is cut short."
    )


PLAIN: dict[str, Reader] = {
    "paragraphs": read_paragraphs,
    "lines": read_lines,
    "raw": read_raw,
    "wikipedia": read_wikipedia,
}
TABLES: dict[str, Callable[[Lines, str | None], Iterator[Document | None]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
}
FORMATS = (*PLAIN, *TABLES)
"""Formats that a file may have."""

PROGRAMS = (
    ".c",
    ".cc",
    ".cpp",
    ".cs",
    ".go",
    ".h",
    ".hpp",
    ".hs",
    ".java",
    ".jl",
    ".js",
    ".kt",
    ".lua",
    ".m",
    ".php",
    ".pl",
    ".py",
    ".r",
    ".rb",
    ".rs",
    ".scala",
    ".sh",
    ".sql",
    ".swift",
    ".ts",
    ".tsx",
)
"""Suffixes of programs, whose lines and indentation are part of what they say."""

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    **dict.fromkeys(PROGRAMS, "raw"),
}

TREEBANK_SUFFIXES = (".conllu", ".conllx", ".conll09")
"""Suffixes of files whose columns nobody means to read as text."""


def guess_format(lines: Lines) -> str:
    """Return the format of a file, by its suffix, else by its first line.

    Raises:
        UsageError: It is a treebank, or text with the marks of another program.
    """
    if lines.suffix in TREEBANK_SUFFIXES:
        raise UsageError(
            f"{lines.name} is a treebank, where text is needed; take a study of treebanks, or name "
            "the format paragraphs to read its lines as they are."
        )
    if lines.suffix in SUFFIXES:
        return SUFFIXES[lines.suffix]
    if lines.first().startswith(OPENING):
        return "wikipedia"
    if markup := markup_of(lines.first(), lines.suffix):
        raise UsageError(
            f"{lines.name} is {markup}; give its text alone, or read the file as it is with "
            f"{setting('format=raw')}."
        )
    return "paragraphs"
