"""Rows of labelled texts and of pairs, by their columns."""

import csv
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from headlight.corpora.files import Lines
from headlight.corpora.text import (
    CommaSeparated,
    TabSeparated,
    check_header,
    check_width,
    demand_characters,
    json_object,
    table_rows,
)
from headlight.errors import CorpusError


@dataclass(frozen=True, slots=True)
class SentencePair:
    """One example of a task that judges sentences or pairs of sentences.

    Attributes:
        name: Where it is from, for messages: ``"dev.tsv:12"`` or ``"hf:glue:mrpc[3]"``.
        first: The first sentence, or the premise; stripped and not empty.
        second: The second sentence, or the hypothesis; None where there is only one.
        label: As the source writes it; None where it has none, or says that there is none.
    """

    name: str
    first: str
    second: str | None
    label: str | None


SENTENCES: tuple[tuple[str, ...], ...] = (
    ("#1 String", "#2 String"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("document", "query"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("first", "second"),
    ("sentence",),
    ("String",),
    ("text",),
)
"""Names of columns by which sentences are found, in this order of preference."""

LABELS = ("gold_label", "Quality", "label")

NO_LABEL = ("", "-", "-1")
"""Values without a label: annotators of MNLI disagree, or a test set keeps its labels."""


def sentence_columns(available: Collection[str]) -> tuple[str, ...] | None:
    """The columns of sentences that are known by their names; None where none are."""
    return next((names for names in SENTENCES if all(n in available for n in names)), None)


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Names of columns, or keys.

    Attributes:
        sentences: One or two.
        label: None where there is no label.
    """

    sentences: tuple[str, ...]
    label: str | None

    @classmethod
    def of(
        cls,
        available: Sequence[str],
        wanted: tuple[str, ...] | None,
        place: str,
        label: str | None = None,
    ) -> "PairColumns":
        """Return the requested columns, or those that are known by their names.

        Raises:
            CorpusError: There is none of them.
        """
        names = ", ".join(map(repr, available)) or "none"
        requested = (*(wanted or ()), *([label] if label is not None else []))
        missing = [name for name in requested if name not in available]
        if missing:
            raise CorpusError(
                f"{place}: there is no column {missing[0]!r}; name those there are: {names}."
            )
        sentences = wanted or sentence_columns(available)
        if sentences is None:
            raise CorpusError(
                f"{place}: no column is known to hold sentences (there are: {names}); name one "
                "or two of them."
            )
        label = label or next((name for name in LABELS if name in available), None)
        return cls(sentences, label if label not in sentences else None)

    def pair(self, row: Mapping[str, object], place: str) -> SentencePair:
        """The pair that a row holds.

        Raises:
            CorpusError: A column is missing, or holds no sentence.
        """
        first, *more = (_sentence(row, name, place) for name in self.sentences)
        label = None if self.label is None else _label(row.get(self.label))
        return SentencePair(place, first, more[0] if more else None, label)


def _sentence(row: Mapping[str, object], name: str, place: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        problem = "nothing" if value is None else "only blanks" if isinstance(value, str) else None
        raise CorpusError(
            f"{place}: {name!r} must hold a sentence, and holds "
            f"{problem or type(value).__name__}; complete the line, or leave it out."
        )
    demand_characters(value, place)
    return value.strip()


def _label(value: object) -> str | None:
    label = "" if value is None else str(value).strip()
    return None if label in NO_LABEL else label


OLD_ENCODING = "latin-1"
"""Encoding of SST and of the newsgroups as they are distributed."""

NEWS_CLASSES = ("World", "Sports", "Business", "Sci/Tech")
REVIEW_KEYS = {"label", "file", "text"}
BREAKS = re.compile(r"\s*(<br\s*/?>\s*)+")
LABELLED_LINE = re.compile(r"[0-4] \S.*\S \S")

QUOTED = re.compile(r"\s*[>|:]|\s*In article\b|.*\b(writes|wrote|says|said):\s*$")
"""Lines of a message that are somebody else's, and those that say whose."""

LabelledRow = tuple[str, Mapping[str, object]]


def treebank_sentences(lines: Lines) -> Iterator[LabelledRow]:
    """The Stanford Sentiment Treebank as lines: the label, a blank, the sentence.

    Raises:
        CorpusError: A line holds no sentence behind a label.
    """
    lines.encoding = OLD_ENCODING
    for line in lines:
        label, _, text = line.strip().partition(" ")
        if not label:
            continue
        if not text:
            raise CorpusError(
                f"{lines.place}: the line must be a label, a blank and a sentence; complete the "
                "line, or leave it out."
            )
        yield lines.place, {"text": text, "label": label}


def news(lines: Lines) -> Iterator[LabelledRow]:
    """AG News without a header: the text, a tab, the name of the class.

    Raises:
        CorpusError: A line does not have two fields.
    """
    for line in lines:
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) != 2:
            raise CorpusError(
                f"{lines.place}: the row has {len(fields)} fields, and should have a text and a "
                "label; correct the line, or leave it out."
            )
        yield lines.place, dict(zip(("text", "label"), fields, strict=True))


def reviews(lines: Lines) -> Iterator[LabelledRow]:
    """Film reviews of IMDb as JSON lines; ``<br />`` is a blank.

    Raises:
        CorpusError: A line is no object.
    """
    for line in lines:
        if line.strip():
            row = json_object(line, lines.place)
            text = row.get("text")
            cleaned = BREAKS.sub(" ", text) if isinstance(text, str) else text
            yield lines.place, row | {"text": cleaned}


def messages(lines: Lines) -> Iterator[LabelledRow | None]:
    """One message of a newsgroup, whose folder says the group; only what its author wrote.

    Without the header, quotations and signature, as Jain and Wallace (2019) read them.  In some
    copies tabs stand for the line breaks.  A message of which nothing is left is None.

    Raises:
        CorpusError: The file is longer than `DOCUMENT_LIMIT`.
    """
    lines.encoding = OLD_ENCODING
    gathered = lines.whole("message", "leave it out")
    broken = (
        gathered if len(gathered) > 1 else list(chain(*(line.split("\t") for line in gathered)))
    )
    text = own_words([line.rstrip("\r\n") for line in broken])
    label = PurePath(lines.name).parent.name
    yield (f"{lines.name}:1", {"text": text, "label": label}) if text else None


def own_words(lines: list[str]) -> str:
    """Return the text by the author of a message: no header, quotations or signature."""
    start = next((at for at, line in enumerate(lines) if not line.strip()), 0)
    own_lines = [line for line in lines[start:] if not QUOTED.match(line)]
    return " ".join(" ".join(own_lines[: _signature(own_lines)]).split())


def _signature(lines: list[str]) -> int:
    """Return the start of a message's last part, behind a line of dashes or blanks."""
    marks = [at for at, line in enumerate(lines) if not line.strip("- ")]
    filled = [at for at, line in enumerate(lines) if line.strip("- ")]
    before = [at for at in marks if filled and filled[0] < at < filled[-1]]
    return before[-1] if before else len(lines)


def guess_labelled(lines: Lines) -> str | None:
    """The format of a file of one of these sets, by its name and first line; None if of none."""
    if PurePath(lines.name).name.isdecimal():
        return "newsgroups"
    first = lines.first().rstrip("\r\n")
    if first.startswith("{"):
        keys = set(json_object(first, f"{lines.name}:1"))
        return "imdb" if keys == REVIEW_KEYS else None
    fields = first.split("\t")
    if len(fields) == 2 and fields[1] in NEWS_CLASSES:
        return "ag_news"
    return "sst" if len(fields) == 1 and LABELLED_LINE.match(first) else None


Row = tuple[str, Mapping[str, object]]
"""File and line of a row, and what it holds by the name of the column."""

ACCEPTABILITY = ("source", "label", "mark", "sentence")
"""The columns of CoLA, which has no header."""

ONLY_MNLI = ("promptID", "genre")
"""Columns that tell MNLI from other data in its format."""

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv"}


def tab_rows(lines: Lines) -> Iterator[Row]:
    """Rows of a table with a header; tabs separate fields, and quotation marks are characters.

    Raises:
        CorpusError: A row has more or fewer fields than the header.
    """
    header = _fields(next(lines, ""))
    check_header(header, lines.place, TabSeparated)
    for line in lines:
        if line.strip():
            yield lines.place, _name_fields(header, _fields(line), lines.place)


def acceptability_rows(lines: Lines) -> Iterator[Row]:
    """Rows of CoLA: source, label, the author's own mark, and the sentence; no header.

    The test set of GLUE is different: it has a header, and no labels.

    Raises:
        CorpusError: A row has more or fewer than four fields, or a label is neither 0 nor 1.
    """
    if "sentence" in _fields(lines.first()):
        yield from tab_rows(lines)
        return
    for line in lines:
        if not line.strip():
            continue
        row = _name_fields(ACCEPTABILITY, _fields(line), lines.place)
        if row["label"] not in ("0", "1"):
            raise CorpusError(
                f"{lines.place}: the label, in the second column, must be 0 or 1, not "
                f"{row['label']!r}; correct the line."
            )
        yield lines.place, row


def comma_rows(lines: Lines) -> Iterator[Row]:
    """Rows of a table with a header; fields may be quoted, and may then span lines.

    Raises:
        CorpusError: The table is malformed, or a row has more or fewer fields than the header.
    """
    rows = table_rows(lines, CommaSeparated)
    place, header = next(rows, ("", []))
    check_header(header, place, CommaSeparated)
    for place, row in rows:
        if row:
            yield place, _name_fields(header, row, place, CommaSeparated)


def json_rows(lines: Lines) -> Iterator[Row]:
    """One object per line.

    Raises:
        CorpusError: A line is no object.
    """
    for line in lines:
        if line.strip():
            yield lines.place, json_object(line, lines.place)


PAIR_FORMATS: dict[str, Callable[[Lines], Iterator[Row | None]]] = {
    "mrpc": tab_rows,
    "cola": acceptability_rows,
    "mnli": lambda lines: (json_rows if lines.first().startswith("{") else tab_rows)(lines),
    "tsv": tab_rows,
    "csv": comma_rows,
    "jsonl": json_rows,
    "sst": treebank_sentences,
    "ag_news": news,
    "imdb": reviews,
    "newsgroups": messages,
}
"""The formats that a file of sentence pairs may have."""


def guess(suffix: str, lines: Lines, columns: tuple[str, ...] | None) -> str:
    """The format of a file, by its suffix, else by its first line.

    Raises:
        CorpusError: It looks like none of them.
    """
    format_name = guess_labelled(lines) if columns is None else None
    if format_name:
        return format_name
    first = lines.first()
    format = SUFFIXES.get(suffix) or ("jsonl" if first.startswith("{") else "tsv")
    if format == "csv" or not first.strip():
        return format
    place = f"{lines.name}:1"
    fields = list(json_object(first, place)) if format == "jsonl" else _fields(first)
    if format == "tsv" and sentence_columns(fields) is None and columns is None:
        if len(fields) == len(ACCEPTABILITY) and fields[1] in ("0", "1"):
            return "cola"
        names = ", ".join(PAIR_FORMATS)
        raise CorpusError(
            f"{place}: the first line fits none of the formats of labelled texts and pairs "
            f"({names}), whose lines hold a text, or two, and a label; name the format and the "
            "columns, or leave the file out."
        )
    if "#1 String" in fields:
        return "mrpc"
    inference = "sentence1" in fields and any(name in fields for name in ONLY_MNLI)
    return "mnli" if inference else format


def _fields(line: str) -> list[str]:
    return line.removesuffix("\n").removesuffix("\r").split("\t")


def _name_fields(
    header: Sequence[str],
    fields: Sequence[str],
    place: str,
    dialect: type[csv.Dialect] = TabSeparated,
) -> dict[str, str]:
    check_width(fields, len(header), place, dialect)
    return dict(zip(header, fields, strict=True))
