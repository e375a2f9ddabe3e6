"""Corpora of texts, and plain text cut into documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice

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
from headlight.corpora.file_kinds import markup_of
from headlight.corpora.files import Lines, files, text_files
from headlight.corpora.formats import find_format, format_table
from headlight.corpora.hub import PREFIX, HubSource, hub_rows
from headlight.corpora.text import (
    Document,
    Draft,
    document_of_value,
    read_csv,
    read_jsonl,
    read_tsv,
    text_column,
)
from headlight.errors import CorpusError, UnknownNameError, UsageError, setting
from headlight.files import Location, standard_input

Reader = Callable[[Lines, CorpusCounts], Iterator[Document | None]]
"""From the lines of a file to its documents; None for one without a text."""


def read_paragraphs(lines: Lines, counts: CorpusCounts) -> Iterator[Document | None]:
    """A blank line ends a document; every line of a document is one of its paragraphs.

    With one sentence per line this is also the input format of Clark et al. (2019).
    """
    draft: Draft | None = None
    for line in lines:
        if line.strip():
            draft = draft or Draft(lines.place)
            draft.add(line)
        elif draft:
            yield _with_lines_counted(draft, counts)
            draft = None
    if draft:
        yield _with_lines_counted(draft, counts)


def _with_lines_counted(draft: Draft, counts: CorpusCounts) -> Document | None:
    document = draft.finish()
    if document and len(document.paragraphs) > 1:
        counts.joined_lines += len(document.paragraphs)
    return document


def read_lines(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """Every line is a document of one paragraph; blank lines are left out."""
    for line in lines:
        text = line.strip()
        if text:
            yield Document(lines.place, (text,))


def read_raw(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """A file is a document, with its line breaks, its indentation and its blank lines."""
    text = "".join(lines.whole("file", "divide it"))
    yield Document(f"{lines.name}:1", (text,)) if text.strip() else None


SEVERAL = 20
"""Fewer lines without a blank one between them are a document."""
ENDS = (*".!?…;:。！？؟।\"'”’»)]}",)
"""Characters at the end of a line that ends a sentence."""
COLUMNS = (40, 200)
"""Between which widths prose is wrapped."""
FULL, MOST = 0.75, 0.6
"""Least width of a full line, relative to the widest; least share of those in wrapped prose."""


def is_a_text_a_line(lines: Sequence[str]) -> bool:
    """Whether lines of a file are texts of their own, such as sentences, and not one document.

    They are many, none is blank, and they are not prose that is wrapped, whose lines are about as
    wide as each other and mostly end in the middle of a sentence.

    Args:
        lines: The first of the file.
    """
    texts = [line.strip() for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    return len(texts) >= SEVERAL and all(texts) and not _is_wrapped(texts)


def _is_wrapped(texts: Sequence[str]) -> bool:
    widths = list(map(len, texts))
    widest = max(widths)
    full = sum(width >= FULL * widest for width in widths)
    ends = sum(text.endswith(ENDS) for text in texts)
    at_least, at_most = COLUMNS
    return at_least <= widest <= at_most and full >= MOST * len(texts) and ends < len(texts) / 2


OPENING = "<doc "
CLOSING = "</doc>"


def read_wikipedia(lines: Lines, _: CorpusCounts) -> Iterator[Document | None]:
    """One document per article, without its title, which is the first line after ``<doc ...>``.

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
    """The stripped lines up to ``</doc>``."""
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


Source = str | Location | Iterable[Readable]

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
"""The formats a file may have."""

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

LOOKED_AT, CHARACTERS = 10_000, 2**24
"""Lines by which a file is taken as texts, one a line; fewer, if they have this many characters."""

TREEBANK_SUFFIXES = (".conllu", ".conllx", ".conll09")
"""Suffixes of files whose columns nobody means to read as text."""


def open_corpus(
    source: Source | Corpus[Document], *, format: str | None = None, column: str | None = None
) -> Corpus[Document]:
    """A corpus from a file, a pattern, a folder, standard input, a data set or Python strings.

    Files may be compressed (``.gz .xz .bz2 .zst``) or archives (``.tar``, also compressed, and
    ``.zip``), which are read member by member, and must be UTF-8.  Formats:

    * ``paragraphs``: plain text; a blank line ends a document, its lines are its paragraphs;
    * ``lines``: plain text; every line is a document;
    * ``raw``: plain text; every file is a document, with its line breaks and its indentation;
    * ``wikipedia``: what WikiExtractor writes, ``<doc ...>`` to ``</doc>``;
    * ``jsonl``: an object per line, whose `column` is a string or a list of strings;
    * ``csv``, ``tsv``: a table with a header line.

    Args:
        source: A path, a pattern such as ``"texts/**/*.txt.gz"``, a folder, ``-`` for standard
            input, ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data set of the library ``datasets``,
            an iterable of strings, each a document with blank lines between its paragraphs, or an
            open corpus, which stays as it is.
        format: One of `FORMATS`, or a `headlight.corpora.Format` of another package.  By default
            the suffix says it (``.jsonl .ndjson .json .csv .tsv``; programs, such as ``.py``, are
            ``raw``); another file is ``wikipedia`` if it begins with ``<doc``, else ``paragraphs``.
        column: Key or column that holds the text; by default ``text``, or the only one.

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
        return _in_memory(source, format, column)
    if source == "-":
        return corpus_read_once("standard input", partial(_standard_input, format, column))
    if isinstance(source, str) and source.startswith(PREFIX):
        return _of_hub(source, format, column)

    def read(lines: Lines, counts: CorpusCounts) -> Iterator[Document]:
        return _documents(lines, format, column, counts)

    return corpus_of_files(source, "text", read)


def holds_a_text_a_line(source: object) -> bool:
    """Whether a source is one plain file of many lines, each of which is a text of its own.

    `headlight.corpora.text_corpus.is_a_text_a_line` is the rule. What cannot be read is not: the
    reader will say why.

    Args:
        source: See `open_corpus`.
    """
    if not isinstance(source, str | Location) or source == "-" or str(source).startswith(PREFIX):
        return False
    try:
        paths = files(source)
        if len(paths) > 1:
            return False
        with closing(text_files(paths[0])) as members:
            first = _beginning(next(members))
            return is_a_text_a_line(first) and next(members, None) is None
    except (CorpusError, UsageError):
        return False


def _beginning(lines: Lines) -> list[str]:
    """The first lines of plain text; none of another format."""
    beginning: list[str] = []
    characters_left = CHARACTERS
    for line in islice(lines, LOOKED_AT if _guess(lines) == "paragraphs" else 0):
        beginning.append(line)
        characters_left -= len(line)
        if characters_left < 0:
            break
    return beginning


def _open_by(name: str, source: Source | Corpus[Document], column: str | None) -> Corpus[Document]:
    """Open texts by a format of another package."""
    row = find_format(name)
    if row is None or row.holds != "texts":
        others = (each.name for each in format_table().values() if each.holds == "texts")
        raise UnknownNameError("format", name, (*FORMATS, *others))
    if column is not None:
        raise UsageError(f"the format {name!r} has no columns; leave out the column {column!r}.")
    if not isinstance(source, str | Location):
        raise UsageError(f"the format {name!r} is read from files; give a path.")
    return row.open(str(source))


def _of_hub(source: str, format: str | None, column: str | None) -> Corpus[Document]:
    """One document per row; without COLUMN the column ``text``, or the only one."""
    parts = HubSource.parse(source, format)  # complains now rather than at the first document
    label = source.replace("\n", " ")

    def documents() -> Iterator[Document | None]:
        for index, row in enumerate(hub_rows(parts, label)):
            place = f"{label}[{index}]"
            name = text_column(column or parts.column, list(row), place)
            yield document_of_value(place, row[name], name)

    return Corpus(label, lambda counts: with_text(documents(), counts))


def _in_memory(
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
    format = format or _guess(lines)
    if format in TABLES:
        return with_text(TABLES[format](lines, column), counts)
    if column is not None:
        raise UsageError(
            f"{lines.name} is read as {format!r}, which has no columns; "
            f"name its format, or leave out the column {column!r}."
        )
    return with_text(PLAIN[format](lines, counts), counts)


def _guess(lines: Lines) -> str:
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
