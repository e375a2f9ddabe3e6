"""Corpora of translations, and their formats of one line per pair."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from headlight.corpora.archives import text_files
from headlight.corpora.compression import decompress
from headlight.corpora.corpus import (
    Corpus,
    CorpusCounts,
    corpus_in_memory,
    corpus_of_files,
    corpus_read_once,
)
from headlight.corpora.file_kinds import markup_of
from headlight.corpora.files import files
from headlight.corpora.hub import PREFIX, HubSource, hub_rows
from headlight.corpora.json_lines import json_object
from headlight.corpora.lines import Lines
from headlight.corpora.tables import (
    CommaSeparated,
    TabSeparated,
    check_header,
    check_width,
    table_rows,
)
from headlight.errors import CorpusError, UsageError
from headlight.files import Location, standard_input, storable
from headlight.settings import require_choice
from headlight_words.corpora.parallel import (
    Column,
    TranslationPair,
    known_columns,
    two_columns,
)
from headlight_words.corpora.samples import name_sample

TRANSLATION = "translation"
"""The key under which data sets hold a sentence in several languages."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys under which an object holds the two sides.

    Attributes:
        source: Key of the source, often a language.
        target: Key of the target.
        inside: Key of the object that holds both; None if they lie at the top.
    """

    source: str
    target: str
    inside: str | None

    @classmethod
    def from_row(
        cls, row: Row, columns: tuple[Column, Column] | None, place: str, inside: str | None = None
    ) -> "Keys":
        """Return the requested keys; else those known by their names, or the only two, in order.

        Args:
            row: First object.
            columns: Requested keys.
            place: Origin of the object, for messages.
            inside: Key of the object that holds both; by default `TRANSLATION`, if that holds an
                object.

        Raises:
            CorpusError: There are no such keys, or it cannot be told which are meant.
        """
        if inside is None and isinstance(row.get(TRANSLATION), Mapping):
            inside = TRANSLATION
        held = _held(row, inside, place)
        names = columns or known_columns(list(held)) or tuple(held)
        missing = [name for name in names if name not in held]
        if missing or len(names) != 2:
            wrong = (
                f"there is no key {missing[0]!r}"
                if missing
                else "it is not known which keys hold source and target"
            )
            available = ", ".join(map(repr, held)) or "none"
            raise CorpusError(f"{place}: {wrong}; name two of those there are: {available}.")
        return cls(str(names[0]), str(names[1]), inside)

    def pair(self, row: Row, place: str) -> TranslationPair:
        """Return the pair that an object holds.

        Raises:
            CorpusError: A key is missing, or holds no text.
        """
        held = _held(row, self.inside, place)
        for key in (self.source, self.target):
            if key not in held:
                raise CorpusError(f"{place}: there is no key {key!r}; complete the object.")
        return TranslationPair.of(place, held[self.source], held[self.target])


def _held(row: Row, inside: str | None, place: str) -> Row:
    held = row if inside is None else row.get(inside)
    if not isinstance(held, Mapping):
        raise CorpusError(
            f"{place}: the key {inside!r} must hold an object with the text of each language, such "
            'as {"de": ..., "en": ...}; name the column that does.'
        )
    return held


BARS = re.compile(r"(?<!\S)\|\|\|(?!\S)")
"""Separator of source and target, as a word of its own."""


def bar_pairs(lines: Lines) -> Iterator[TranslationPair]:
    """Yield the pairs of lines ``source ||| target``; a blank line is an empty pair.

    Raises:
        CorpusError: Bars are missing from a line, or stand in it more than once.
    """
    for line in lines:
        sides = BARS.split(line) if line.strip() else ["", ""]
        if len(sides) != 2:
            count = f"{len(sides) - 1} times" if len(sides) > 2 else "not there"
            raise CorpusError(
                f"{lines.place}: '|||' with blanks around it must stand once in the line, between "
                f"source and target, and is {count}; correct the line, or name the format of the "
                "file."
            )
        yield TranslationPair.of(lines.place, *sides)


def table_pairs(
    lines: Lines, columns: tuple[Column, Column] | None, dialect: type[csv.Dialect]
) -> Iterator[TranslationPair]:
    """Yield the pairs in two columns of a table; a row of blanks is an empty pair.

    Columns requested by name need a header.  If none are requested, the first row is a header if
    it has names that are known; else source and target are the first two columns.

    Raises:
        CorpusError: There is no such column, a row has other fields than the first, or the table is
            malformed.
    """
    rows = table_rows(lines, dialect)
    place, first = next(rows, ("", None))
    if first is None:
        return
    if len(first) == 1:
        check_header(first, place, dialect)
    names = columns or known_columns(first) or (1, 2)
    source, target = (_number(name, first, place) for name in names)
    if all(isinstance(name, int) for name in names):
        yield _pair_from_row(place, first, source, target)
    for place, row in rows:
        if any(field.strip() for field in row):
            check_width(row, len(first), place, dialect)
        yield _pair_from_row(place, row, source, target)


def _number(name: Column, header: Sequence[str], place: str) -> int:
    """Return the number of a column, from 1."""
    if isinstance(name, int):
        return name
    if name not in header:
        names = ", ".join(map(repr, header)) or "none"
        raise CorpusError(
            f"{place}: there is no column {name!r}; name two of those there are ({names}), or give "
            "their numbers, from 1."
        )
    return header.index(name) + 1


def _pair_from_row(place: str, row: Sequence[str], source: int, target: int) -> TranslationPair:
    if not any(field.strip() for field in row):
        return TranslationPair(place, "", "")
    if len(row) < max(source, target):
        raise CorpusError(
            f"{place}: source and target are in columns {source} and {target}, and the row has "
            f"{len(row)}; complete the row, or name the columns or the format."
        )
    return TranslationPair.of(place, row[source - 1], row[target - 1])


def json_pairs(lines: Lines, columns: tuple[Column, Column] | None) -> Iterator[TranslationPair]:
    """Yield the pairs of lines with an object each, see `Keys`; a blank line is an empty pair.

    Raises:
        CorpusError: A line is no object, or lacks a key.
    """
    keys = None
    for line in lines:
        if not line.strip():
            yield TranslationPair(lines.place, "", "")
            continue
        row = json_object(line, lines.place)
        keys = keys or Keys.from_row(row, columns, lines.place)
        yield keys.pair(row, lines.place)


def beside(source: Lines, target: Lines) -> Iterator[TranslationPair]:
    """Yield the pairs of sources in one file and targets in another, line for line.

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


PARALLEL_FORMATS = ("bars", "tsv", "csv", "jsonl")
"""The formats that a file of translations may have."""

SUFFIXES = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}

Pairs = Iterable[TranslationPair | Sequence[str]]


def open_parallel(
    source: str | Location | Pairs | Corpus[TranslationPair],
    target: str | Location | None = None,
    *,
    format: str | None = None,
    columns: Sequence[Column] | None = None,
) -> Corpus[TranslationPair]:
    """Open translations: one file or two, a pattern, a folder, standard input, or a data set.

    Files may be compressed or archives, as for `open_corpus`.  Formats:

    * ``bars``: ``source ||| target``;
    * ``tsv``, ``csv``: two columns of a table, with or without a header;
    * ``jsonl``: an object per line, ``{"source": ..., "target": ...}`` or, as data sets have it,
      ``{"translation": {"de": ..., "en": ...}}``.

    A line is a pair: a blank line is an empty pair, so that output for the pairs can have as many
    lines.

    Args:
        source: A path, a pattern, a folder, ``-`` for standard input,
            ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data set of the library ``datasets``, such
            as ``hf:wmt16:de-en:test``, or pairs; an open corpus of pairs is returned unchanged.
        target: Path of the translations, if `source` holds the sources alone, line for line.
        format: Name of a format in `PARALLEL_FORMATS`; by default inferred from the suffix and the
            first line of a file.
        columns: Columns of source and target: names or numbers (from 1) of columns, keys, or
            languages.  By default ``source`` and ``target``, ``src`` and ``tgt``, else the first
            two columns, or the only two keys or languages.

    Raises:
        UsageError: The format is unknown, or options do not go together.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None:
        require_choice("format of translations", format, PARALLEL_FORMATS)
    wanted = two_columns(columns)
    if format == "bars" and wanted:
        raise UsageError("the format 'bars' has no columns; leave them out.")
    if target is not None:
        return _pairs_from_two(source, target, format, wanted)
    if not isinstance(source, str | Location):
        return _pairs_in_memory(source, format, wanted)
    if source == "-":
        return corpus_read_once(
            "standard input", partial(_standard_input, format, wanted), "parallel"
        )
    if isinstance(source, str) and source.startswith(PREFIX):
        return _pairs_from_hub(source, format, wanted)
    corpus = corpus_of_files(source, "parallel", lambda lines, _: _pairs(lines, format, wanted))
    return name_sample(corpus, source)


def _pairs_from_two(
    source: object,
    target: str | Location,
    format: str | None,
    columns: tuple[Column, Column] | None,
) -> Corpus[TranslationPair]:
    if format is not None or columns is not None:
        raise UsageError("two files have a text in each line; leave out format and columns.")
    if not isinstance(source, str | Location):
        raise UsageError("a target goes with the path of a source; give two paths, or pairs.")
    if "-" in (source, target):
        raise UsageError(
            "standard input holds both sides, as 'source ||| target'; leave out the second file."
        )
    label = f"{storable(source)} and {storable(target)}"
    sources, targets = files(source), files(target)
    _demand_as_many(len(sources), len(targets), label)

    def read(_: CorpusCounts) -> Iterator[TranslationPair]:
        for paths in zip(sources, targets, strict=True):
            for source_line, right in zip_longest(*map(text_files, paths)):
                _demand_as_many(source_line is None, right is None, label)
                yield from beside(source_line, right)

    return Corpus(label, read, "parallel")


def _demand_as_many(sources: int, targets: int, label: str) -> None:
    if sources != targets:
        raise CorpusError(
            f"{label} do not hold the same number of files; give one target for each source."
        )


def _pairs_in_memory(
    source: Pairs, format: str | None, columns: tuple[Column, Column] | None
) -> Corpus[TranslationPair]:
    if columns is not None:
        raise UsageError("only files and data sets have columns; leave them out.")
    return corpus_in_memory(source, "parallel", "pairs in memory", format=format, read=_given_pairs)


def _given_pairs(source: Pairs) -> Iterator[TranslationPair]:
    for index, pair in enumerate(source):
        if isinstance(pair, TranslationPair):
            yield pair
        elif isinstance(pair, tuple | list) and len(pair) == 2:
            yield TranslationPair.of(f"pair {index}", *pair)
        else:
            raise UsageError(
                f"pair {index} must be a source and a target, and {pair!r:.60} is not; give "
                "tuples of two strings, or the path of a file."
            )


def _standard_input(
    format: str | None, columns: tuple[Column, Column] | None, _: CorpusCounts
) -> Iterator[TranslationPair]:
    lines = Lines(decompress(standard_input()), "standard input")
    return _pairs(lines, format, columns)


def _pairs_from_hub(
    source: str, format: str | None, columns: tuple[Column, Column] | None
) -> Corpus[TranslationPair]:
    parts = HubSource.parse(source, format)
    label = source.replace("\n", " ")

    def read(_: CorpusCounts) -> Iterator[TranslationPair]:
        keys = None
        for index, row in enumerate(hub_rows(parts, label)):
            place = f"{label}[{index}]"
            keys = keys or Keys.from_row(row, columns, place, parts.column)
            yield keys.pair(row, place)

    return Corpus(label, read, "parallel")


def _pairs(
    lines: Lines, format: str | None, columns: tuple[Column, Column] | None
) -> Iterator[TranslationPair]:
    chosen = format or _guess(lines, columns)
    if chosen == "jsonl":
        return json_pairs(lines, columns)
    if chosen == "bars":
        return bar_pairs(lines)
    return table_pairs(lines, columns, CommaSeparated if chosen == "csv" else TabSeparated)


def _guess(lines: Lines, columns: tuple[Column, Column] | None) -> str:
    """Return the format, by the suffix or the first line; only tables have columns to request.

    Raises:
        UsageError: The text has the marks of another program.
    """
    if lines.suffix in SUFFIXES:
        return SUFFIXES[lines.suffix]
    first = lines.first()
    if first.startswith("{"):
        return "jsonl"
    if markup := markup_of(first, lines.suffix):
        raise UsageError(
            f"{lines.name} is {markup}; write its pairs as a table, or as lines "
            "'source ||| target'."
        )
    tabs = "\t" in first and not BARS.search(first)
    return "tsv" if tabs or columns else "bars"
