"""Files of sentence pairs as rows: columns by name, and the place of each row."""

from collections.abc import Callable, Iterator, Mapping

from headlight.corpora.lines import Lines
from headlight.corpora.pairs import sentence_columns
from headlight.corpora.pairs.labelled_rows import (
    guess_labelled,
    messages,
    news,
    reviews,
    treebank_sentences,
)
from headlight.corpora.text.tables import CommaSeparated, json_object, table_rows
from headlight.errors import CorpusError

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
    _, header = next(rows, ("", []))
    for place, row in rows:
        if row:
            yield place, _name_fields(header, row, place)


def json_rows(lines: Lines) -> Iterator[Row]:
    """One object per line.

    Raises:
        CorpusError: A line is no object.
    """
    for line in lines:
        if line.strip():
            yield lines.place, json_object(line, lines.place)


def _inference_rows(lines: Lines) -> Iterator[Row]:
    return json_rows(lines) if lines.first().startswith("{") else tab_rows(lines)


PAIR_FORMATS: dict[str, Callable[[Lines], Iterator[Row]]] = {
    "mrpc": tab_rows,
    "cola": acceptability_rows,
    "mnli": _inference_rows,
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
    known = guess_labelled(lines) if columns is None else None
    if known:
        return known
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
    header: "tuple[str, ...] | list[str]", fields: list[str], place: str
) -> dict[str, str]:
    if len(fields) != len(header):
        raise CorpusError(
            f"{place}: the row has {len(fields)} fields, and should have {len(header)}; correct "
            "the line, or leave it out."
        )
    return dict(zip(header, fields, strict=True))
