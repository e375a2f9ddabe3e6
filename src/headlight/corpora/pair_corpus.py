"""Sentence pairs: MRPC, CoLA, MNLI and their like, one pair at a time."""

from collections.abc import Iterable, Iterator
from typing import Any

from headlight.corpora.corpus import (
    Corpus,
    CorpusCounts,
    corpus_in_memory,
    corpus_of_files,
    with_text,
)
from headlight.corpora.hub import PREFIX, HubSource, hub_rows
from headlight.corpora.json_lines import with_path
from headlight.corpora.lines import Lines
from headlight.corpora.pair_formats import PAIR_FORMATS, guess
from headlight.corpora.pairs import PairColumns, SentencePair
from headlight.corpora.tables import Row
from headlight.errors import UsageError
from headlight.files import Location
from headlight.settings import require_choice

PREFERRED_SPLITS = ("validation", "validation_matched", "dev", "test", "train")


def open_sentence_pairs(
    source: str | Location | Iterable[Any],
    *,
    format: str | None = None,
    split: str | None = None,
    columns: Iterable[str] | None = None,
    label: str | None = None,
) -> Corpus[SentencePair]:
    """Open sentence pairs, or single sentences, of a file, a pattern, a folder or a data set.

    Files may be compressed or archives, as for `open_treebank`.  Formats:

    * ``mrpc``: the files of Microsoft, and of GLUE: tabs, a header with ``#1 String``, and
      quotation marks that are never closed because they are characters;
    * ``cola``: four columns without a header, the sentence in the last; GLUE's the same;
    * ``mnli``: JSON lines with ``sentence1``, ``sentence2`` and ``gold_label``, or the same as
      columns, as GLUE has it.  A pair without a gold label (``-``) has the label None;
    * ``sst``: the Stanford Sentiment Treebank as lines of a label, a blank and a sentence, in
      Latin-1;
    * ``ag_news``: a text, a tab, and the name of its class, without a header;
    * ``imdb``: JSON lines with ``label``, ``file`` and ``text``, where ``<br />`` is a blank;
    * ``newsgroups``: a folder or archive of messages in Latin-1, each in the folder of its group;
      headers, quotations and signatures are left out;
    * ``tsv``, ``csv``, ``jsonl``: any other columns with a header, or keys of an object per line
      or of an array of objects.

    Blank lines are passed over; any other line that holds no pair is refused.

    Args:
        source: Path, pattern, folder, ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data set of the
            library ``datasets``, such as ``hf:glue:mrpc:validation``, or pairs, which may also be
            tuples of a text and its label, or of two texts and their label; an open corpus of pairs
            stays as it is.
        format: Format, one of `PAIR_FORMATS`; by default the suffix and the first line of a file
            say it.
        split: Split of a data set, by default the validation split, else the test split, else
            the training split; for files, a part of their names, by default all files.
        columns: Name of the column with the sentence, or the names of two; by default they are
            found by the names that such data sets give them.  Keys of objects in objects have dots
            between.
        label: Name of the column with the label; by default it is found in the same way.

    Raises:
        UsageError: The format is unknown, or options do not go together.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None:
        require_choice("format of sentence pairs", format, PAIR_FORMATS)
    wanted = None if columns is None else tuple(columns)
    if wanted is not None and len(wanted) not in (1, 2):
        raise UsageError(f"sentences are in one column or two, not in {len(wanted)}.")
    if not isinstance(source, str | Location):
        if split is not None or wanted is not None or label is not None:
            raise UsageError("only files have parts and columns; leave out split and columns.")
        return corpus_in_memory(source, "pairs", "pairs", format=format, read=_read_objects)
    text = str(source)
    if text.startswith(PREFIX):
        return _open_hub(text, format, split, wanted, label)

    def read(lines: Lines, counts: CorpusCounts) -> Iterator[SentencePair]:
        chosen = format or guess(lines.suffix, lines, wanted)
        return _pairs(with_text(PAIR_FORMATS[chosen](lines), counts), wanted, label)

    return corpus_of_files(text, "pairs", read, split)


def _read_objects(pairs: Iterable[Any]) -> Iterator[SentencePair]:
    """Yield pairs of objects in memory: pairs, or tuples that end in a label."""
    for index, pair in enumerate(pairs):
        if isinstance(pair, SentencePair):
            yield pair
        elif isinstance(pair, tuple | list) and len(pair) in (2, 3):
            sentences = ("first", "second")[: len(pair) - 1]
            row = dict(zip((*sentences, "label"), pair, strict=True))
            yield PairColumns(sentences, "label").pair(row, f"pair {index}")
        else:
            raise UsageError(
                f"pair {index} must be a text or two and a label, and {pair!r:.60} is not; give "
                "tuples such as (text, label), or the path of a file."
            )


def _open_hub(
    source: str,
    format: str | None,
    split: str | None,
    columns: tuple[str, ...] | None,
    column_of_labels: str | None,
) -> Corpus[SentencePair]:
    parts = HubSource.parse(source, format)
    if split and parts.split and split != parts.split:
        raise UsageError(f"{source!r} names a split already; leave out the split {split!r}.")
    if parts.column and columns is None:
        columns = (parts.column,)
    chosen = HubSource(parts.name, parts.config, split or parts.split)
    label = source.replace("\n", " ")

    def read(_: CorpusCounts) -> Iterator[SentencePair]:
        rows = hub_rows(chosen, label, PREFERRED_SPLITS)
        named = ((f"{label}[{index}]", row) for index, row in enumerate(rows))
        return _pairs(named, columns, column_of_labels)

    return Corpus(label, read, "pairs")


def _pairs(
    rows: Iterable[Row], wanted: tuple[str, ...] | None, label: str | None
) -> Iterator[SentencePair]:
    columns = None
    for place, row in rows:
        for name in (*(wanted or ()), label):
            row = with_path(row, name)
        columns = columns or PairColumns.choose(list(row), wanted, place, label)
        yield columns.pair(row, place)


def as_sentence_pairs(corpus: Corpus) -> Corpus[SentencePair]:
    """Return the corpus with each translation as two sentences, for readers of sentence pairs."""

    def read(counts: CorpusCounts) -> Iterator[SentencePair]:
        for pair in corpus.read(counts):
            yield SentencePair(pair.name, pair.source, pair.target, None)

    return Corpus(
        corpus.source, read, "parallel", corpus.limit, corpus.once, share_of=corpus.share_of
    )
