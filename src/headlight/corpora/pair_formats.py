"""Formats of sentence pairs and labelled texts: MRPC, CoLA, MNLI, tables, JSON lines and others."""

from collections.abc import Callable, Iterator

from headlight.corpora.json_lines import json_object, json_rows
from headlight.corpora.labelled_formats import (
    guess_labelled,
    messages,
    news,
    reviews,
    treebank_sentences,
)
from headlight.corpora.lines import Lines
from headlight.corpora.pairs import sentence_columns
from headlight.corpora.tables import Row, comma_rows, named_fields, tab_fields, tab_rows
from headlight.errors import CorpusError

ACCEPTABILITY = ("source", "label", "mark", "sentence")
"""Columns of CoLA, which has no header."""

ONLY_MNLI = ("promptID", "genre")
"""Columns that tell MNLI from other data in its format."""

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv"}


def acceptability_rows(lines: Lines) -> Iterator[Row]:
    """Yield rows of CoLA: source, label, the author's own mark, and the sentence; no header.

    The test set of GLUE is different: it has a header, and no labels.

    Raises:
        CorpusError: A row has more or fewer than four fields, or a label is neither 0 nor 1.
    """
    if "sentence" in tab_fields(lines.first()):
        yield from tab_rows(lines)
        return
    for line in lines:
        if not line.strip():
            continue
        row = named_fields(ACCEPTABILITY, tab_fields(line), lines.place)
        if row["label"] not in ("0", "1"):
            raise CorpusError(
                f"{lines.place}: the label, in the second column, must be 0 or 1, not "
                f"{row['label']!r}; correct the line."
            )
        yield lines.place, row


PAIR_FORMATS: dict[str, Callable[[Lines], Iterator[Row | None]]] = {
    "mrpc": tab_rows,
    "cola": acceptability_rows,
    "mnli": lambda lines: (json_rows if lines.first().startswith(("{", "[")) else tab_rows)(lines),
    "tsv": tab_rows,
    "csv": comma_rows,
    "jsonl": json_rows,
    "sst": treebank_sentences,
    "ag_news": news,
    "imdb": reviews,
    "newsgroups": messages,
}
"""Formats that a file of sentence pairs may have."""


def guess(suffix: str, lines: Lines, columns: tuple[str, ...] | None) -> str:
    """Return the format of a file, by its suffix, else by its first line.

    Raises:
        CorpusError: The file looks like none of the formats.
    """
    format_name = guess_labelled(lines) if columns is None else None
    if format_name:
        return format_name
    first = lines.first()
    format = SUFFIXES.get(suffix) or ("jsonl" if first.startswith("{") else "tsv")
    is_array = format == "jsonl" and first.lstrip().startswith("[")
    if format == "csv" or is_array or not first.strip():
        return format
    place = f"{lines.name}:1"
    fields = list(json_object(first, place)) if format == "jsonl" else tab_fields(first)
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
