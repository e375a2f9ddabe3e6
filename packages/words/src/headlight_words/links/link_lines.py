"""Links between words, their line formats, and files of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

from headlight.corpora.archives import text_files
from headlight.corpora.compression import decompress
from headlight.corpora.corpus import Corpus, CorpusCounts, corpus_read_once
from headlight.corpora.files import files
from headlight.corpora.json_lines import json_object
from headlight.corpora.lines import BLANK_LIMIT, Lines
from headlight.errors import CorpusError, UsageError
from headlight.files import Location, standard_input, storable
from headlight.settings import require_choice

Link = tuple[int, int]
"""The word of the source and the word of the target, each from 0."""

Links = frozenset[Link]
"""The links of one sentence."""

Scores = Mapping[Link, float]
"""Strengths of links; not all of them need a score."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The links of one sentence by annotators, or by an aligner, of which all are sure.

    Attributes:
        sure: Certain links.
        possible: All links, the sure ones included.
        name: Origin of the links, for messages: ``"gold.talp:12"``.
    """

    sure: Links
    possible: Links
    name: str = ""

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            object.__setattr__(self, "possible", self.possible | self.sure)

    @classmethod
    def of(cls, links: Iterable[Link]) -> "Gold":
        """Return links that are all sure."""
        sure = frozenset(links)
        return cls(sure, sure)

    @property
    def only_possible(self) -> Links:
        """Return the links that are not sure."""
        return self.possible - self.sure

    def without_possible(self) -> "Gold":
        """Return the sure links alone."""
        return Gold(self.sure, self.sure, self.name)


def swapped(links: Iterable[Link]) -> Links:
    """Return the links from target to source."""
    return frozenset((target, source) for source, target in links)


LinkFormat = Literal["pharaoh", "talp", "naacl", "tsv", "jsonl"]
"""``i-j``; the same from 1, with ``ipj``; ``sentence i j S``; a table; JSON lines."""

BASES: dict[LinkFormat, int] = {"pharaoh": 0, "talp": 1, "naacl": 1, "tsv": 0, "jsonl": 0}
"""The number of the first word."""

NUMBERED: tuple[LinkFormat, ...] = ("naacl", "tsv")
"""Formats that number sentences, and so leave out sentences without links."""

COLUMNS = ("sentence", "source", "target", "kind")
"""First columns of a table; scores and words may follow."""

SUFFIXES: dict[str, LinkFormat] = {
    ".pharaoh": "pharaoh",
    ".talp": "talp",
    ".naacl": "naacl",
    ".wa": "naacl",
    ".jsonl": "jsonl",
    ".json": "jsonl",
}

LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})(?::\S+|(?:-\d?\.\d+)+)?", re.ASCII)
"""A link, and perhaps its score: ``3-4``, ``3p4``, ``3-4:0.83``; simalign's ``3-4-.83-.91``."""

IDENTIFIER = re.compile(r"\s*[^\s-]*\t")
"""Identifier that simalign writes before the links."""

AFTERWARDS = " ||| "
"""Separator that fast_align writes between the links and the score of a sentence."""

ROW = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP])(?:\s+\S+)?)?\s*", re.ASCII)


class _Row(NamedTuple):
    sentence: int
    link: Link
    sure: bool


def link_format(lines: Lines) -> LinkFormat:
    """Return the format of a file, by its suffix, else by its first line."""
    if lines.suffix in SUFFIXES:
        return SUFFIXES[lines.suffix]
    first = lines.first()
    # A first line tells formats apart, but for `pharaoh` from 0 and the sure links of `talp`.
    if first.startswith("{"):
        return "jsonl"
    if _fields(first)[:3] == list(COLUMNS[:3]):
        return "tsv"
    if ROW.fullmatch(first):
        return "naacl"
    return "talp" if re.search(r"\b\d+p\d+\b", first) else "pharaoh"


def _dash_lines(possible: bool) -> Callable[[Lines, int], Iterator[Gold]]:
    """Return a reader of one sentence per line; `possible` permits links that are not sure."""

    def read(lines: Lines, base: int) -> Iterator[Gold]:
        for line in lines:
            named = IDENTIFIER.match(line)
            text = line[named.end() :] if named else line
            links = _links(text.split(AFTERWARDS)[0].split(), lines.place, base, possible)
            yield _gold(links, lines.place)

    return read


def _links(words: list[str], place: str, base: int, possible: bool) -> Iterator[tuple[Link, bool]]:
    """Yield each link, and whether it is sure."""
    for word in words:
        parts = LINK.fullmatch(word)
        if parts is None:
            raise CorpusError(
                f"{place}: {word!r:.60} is no link such as 3-4; correct the line, or name the "
                "format of the file."
            )
        sure = parts[2] == "-"
        if not (sure or possible):
            raise CorpusError(
                f"{place}: {word!r} is a possible link, as they are in the format talp, which "
                "counts words from 1; name that format."
            )
        yield _count_from_zero(int(parts[1]), int(parts[3]), place, base), sure


def _count_from_zero(source: int, target: int, place: str, base: int) -> Link:
    if base > min(source, target):
        raise CorpusError(
            f"{place}: words are counted from {base} here, and there is a word {base - 1}; if the "
            "file counts from 0, say so, or name its format."
        )
    return source - base, target - base


def _gold(rows: Iterable[tuple[Link, bool]], place: str) -> Gold:
    # `rows` may be an iterator, and is gone through twice.
    links = dict.fromkeys(rows)
    return Gold(
        frozenset(link for link, sure in links if sure), frozenset(link for link, _ in links), place
    )


def _naacl_rows(lines: Lines, base: int) -> Iterator[_Row]:
    for line in lines:
        parts = ROW.fullmatch(line)
        if parts is None and line.strip():
            raise CorpusError(
                f"{lines.place}: the line must be a sentence, a word of the source and one of the "
                "target, such as '1 3 4 S', and is not; correct it, or name the format of the file."
            )
        if parts is not None:
            # Sentences are counted from 1 in this format, and from 0 here.
            link = _count_from_zero(int(parts[2]), int(parts[3]), lines.place, base)
            yield _Row(int(parts[1]) - 1, link, parts[4] != "P")


def _table_rows(lines: Lines, base: int) -> Iterator[_Row]:
    header = _fields(next(lines, ""))
    if header[:3] != list(COLUMNS[:3]):
        raise CorpusError(
            f"{lines.place}: a table of links begins with the columns sentence, source and target, "
            "in this order; add them as a header, or name the format of the file."
        )
    kind = header.index("kind") if "kind" in header else None
    for line in lines:
        row = _fields(line)
        numbers = [int(digits) for digits in row[:3] if re.fullmatch(r"[0-9]{1,9}", digits)]
        if len(row) != len(header) or len(numbers) != 3:
            raise CorpusError(
                f"{lines.place}: the row must have {len(header)} fields, the first three of them "
                "numbers; correct the line."
            )
        link = _count_from_zero(numbers[1], numbers[2], lines.place, base)
        yield _Row(numbers[0], link, kind is None or row[kind] != "P")


def _fields(line: str) -> list[str]:
    return line.rstrip("\r\n").split("\t")


def _sentences(rows: Iterator[_Row], lines: Lines) -> Iterator[Gold]:
    """Yield the links of each sentence, from rows sorted by sentence; some have no rows."""
    number, pairs, place = 0, list[tuple[Link, bool]](), ""
    for row in rows:
        # Blank sentences have no lines; a large gap is more likely a wrong column.
        if not 0 <= row.sentence - number <= BLANK_LIMIT:
            raise CorpusError(
                f"{lines.place}: the numbers of the sentences must rise, from the first on, and "
                "without large gaps; sort the lines by sentences."
            )
        while number < row.sentence:
            yield _gold(pairs, place)
            number, pairs, place = number + 1, [], ""
        place = place or lines.place
        pairs.append((row.link, row.sure))
    if pairs:
        yield _gold(pairs, place)


def _json_lines(lines: Lines, base: int) -> Iterator[Gold]:
    """Yield the links of lines ``{"links": [[0, 1]], "possible": [[2, 2]]}``, one per sentence."""
    for line in lines:
        # A blank line is a sentence without links, as in the formats of one sentence a line.
        row = json_object(line, lines.place) if line.strip() else {"links": []}
        pairs = [
            (link, key == "links")
            for key in ("links", "possible")
            for link in _json_links(row.get(key, None if key == "links" else []), lines.place, base)
        ]
        yield _gold(pairs, lines.place)


def _json_links(value: object, place: str, base: int) -> Iterator[Link]:
    if not isinstance(value, list):
        raise CorpusError(
            f"{place}: 'links' and 'possible' must be lists of links, such as [[0, 0], [1, 2]]; "
            "correct the line."
        )
    for link in value:
        if not (isinstance(link, list) and len(link) == 2 and all(type(n) is int for n in link)):
            raise CorpusError(f"{place}: {link!r:.60} is no link such as [3, 4]; correct the line.")
        yield _count_from_zero(link[0], link[1], place, base)


_READERS: dict[LinkFormat, Callable[[Lines, int], Iterator[Gold]]] = {
    "pharaoh": _dash_lines(possible=False),
    "talp": _dash_lines(possible=True),
    "naacl": lambda lines, base: _sentences(_naacl_rows(lines, base), lines),
    "tsv": lambda lines, base: _sentences(_table_rows(lines, base), lines),
    "jsonl": _json_lines,
}


LINK_FORMATS: tuple[LinkFormat, ...] = get_args(LinkFormat)
"""The formats that a file of word links may have."""

STANDARD_INPUT = "-"


def open_links(
    source: str | Location,
    *,
    format: str | None = None,
    base: int | None = None,
    swap: bool = False,
    sentences: int | None = None,
) -> Corpus[Gold]:
    """Open the links of each sentence, from a file, a pattern, a folder or standard input.

    Files may be compressed or archives, as for `headlight.corpora.open_corpus`.  Formats:

    * ``pharaoh``: a sentence per line, ``i-j`` for each link, words from 0; also with scores
      (``i-j:0.83``), and as fast_align, eflomal, awesome-align and simalign write it;
    * ``talp``: the same from 1, where ``ipj`` is a possible link that is not sure;
    * ``naacl``: a link per line, ``sentence i j`` from 1, then ``S`` (sure) or ``P``;
    * ``tsv``: a table with the columns sentence, source, target and perhaps kind, from 0;
    * ``jsonl``: ``{"links": [[0, 0], [1, 2]], "possible": [[2, 2]]}``, a sentence per line, from 0.

    Args:
        source: A path, a pattern, a folder, or ``-`` for standard input.
        format: Name of a format in `LINK_FORMATS`; by default inferred from the suffix (``.talp``,
            ``.naacl``), else from the first line.
        base: Number of the first word, if it differs from that of the format.
        swap: Whether the file has the word of the target first.
        sentences: Required number of sentences; in files that number them, the last may be missing.

    Raises:
        UsageError: The format or the base is unknown.
        CorpusError: There is no such file; when it is read, a line is in another format, a word has
            a number below the base, or there are more or fewer sentences.
    """
    _check(format, base)
    # Standard input can be read once only, and is opened when reading begins.
    name = "standard input" if source == STANDARD_INPUT else storable(source)
    paths: Sequence[Location] = [] if source == STANDARD_INPUT else files(source)

    def read(_: CorpusCounts) -> Iterator[Gold]:
        opened = (lines for path in paths for lines in text_files(path)) if paths else _standard()
        all_gold = _read_links(opened, format, base, sentences)
        if not swap:
            return all_gold
        return (Gold(swapped(gold.sure), swapped(gold.possible), gold.name) for gold in all_gold)

    make = Corpus if paths else corpus_read_once
    return make(name, read, "links")


def links_signature(source: str | Location, format: str | None, base: int | None) -> str:
    """Return format and base of the first file, as in ``talp1``.

    Raises:
        UsageError: The format or the base is unknown.
        CorpusError: There is no such file.
    """
    _check(format, base)
    chosen = format
    if chosen is None:
        chosen = next(link_format(lines) for lines in text_files(files(source)[0]))
    return f"{chosen}{BASES[cast('LinkFormat', chosen)] if base is None else base}"


def _check(format: str | None, base: int | None) -> None:
    if format is not None:
        require_choice("format of word links", format, LINK_FORMATS)
    if base not in (None, 0, 1):
        raise UsageError(f"words are counted from 0 or from 1, not from {base}.")


def _standard() -> Iterator[Lines]:
    yield Lines(decompress(standard_input()), "standard input")


def _read_links(
    opened: Iterator[Lines], format: str | None, base: int | None, sentences: int | None
) -> Iterator[Gold]:
    """Yield the links in all files, for exactly the required number of sentences."""
    number = 0
    last, chosen = "", "pharaoh"
    for lines in opened:
        chosen = format or link_format(lines)
        kind = cast("LinkFormat", chosen)
        for links in _READERS[kind](lines, BASES[kind] if base is None else base):
            number += 1
            if sentences is not None and number > sentences:
                raise CorpusError(
                    f"{lines.place}: there must be {sentences:,} sentences, and here is one more; "
                    "give links of the same sentences."
                )
            yield links
        last = lines.place
    if sentences is None or number == sentences:
        return
    if chosen not in NUMBERED:
        raise CorpusError(
            f"{last}: there must be {sentences:,} sentences, and the file ends after {number:,}; "
            "give links of the same sentences."
        )
    # Numbered formats do not write sentences without links, not even the last.
    for _ in range(sentences - number):
        yield Gold(frozenset(), frozenset())
