"""The door to sentence pairs: MRPC, CoLA, MNLI and their like, one pair at a time."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from headlight.corpora.archives import text_files
from headlight.corpora.compression import without_compression
from headlight.corpora.files import files, printable
from headlight.corpora.hub import PREFIX, HubSource, hub_rows
from headlight.corpora.lines import Lines
from headlight.corpora.pairs.pair_rows import PAIR_FORMATS, Row, guess
from headlight.corpora.pairs.sentence_pair import PairColumns, SentencePair
from headlight.errors import CorpusError, UnknownNameError, UsageError

TASKS = {
    "mrpc": "mrpc", "msr_paraphrase": "mrpc", "cola": "cola", "mnli": "mnli", "multinli": "mnli",
}  # fmt: skip
TASK_NAME = re.compile(rf"(?<![a-z])({'|'.join(TASKS)})(?![a-z])")
OTHER = "pairs"
"""What sentence pairs are called that are of none of the three."""

PREFERRED_SPLITS = ("validation", "validation_matched", "dev", "test", "train")


def task_of(name: str) -> str | None:
    """``mrpc``, ``cola`` or ``mnli``, where the name of a file or a data set says so last."""
    found = TASK_NAME.findall(name.lower())
    return TASKS[found[-1]] if found else None


class SentencePairs:
    """Sentence pairs in a fixed order, read while one iterates; they can be iterated again.

    Attributes:
        source: What they were opened from, as reports show it.
    """

    def __init__(
        self,
        source: str,
        paths: list[Path],
        format: str | None,
        columns: tuple[str, ...] | None,
        hub: HubSource | None = None,
    ) -> None:
        self.source = source
        self._paths = paths
        self._format = format
        self._columns = columns
        self._hub = hub

    def __repr__(self) -> str:
        return f"SentencePairs({self.source!r})"

    @cached_property
    def name(self) -> str:
        """``mrpc``, ``cola`` or ``mnli``, as the source is called or looks; else ``pairs``.

        Raises:
            CorpusError: The first file cannot be read, or is in no known format.
        """
        looks = self._format or task_of(self.source) or self._looks()
        return looks if looks in TASKS.values() else OTHER

    def __iter__(self) -> Iterator[SentencePair]:
        """The pairs.

        Raises:
            CorpusError: A file cannot be read, a line is broken, or there are none.
        """
        empty = True
        for rows in self._tables():
            columns = None
            for place, row in rows:
                columns = columns or PairColumns.of(list(row), self._columns, place)
                empty = False
                yield columns.pair(row, place)
        if empty:
            raise CorpusError(f"{self.source} holds no sentences; nothing can be said about it.")

    def _looks(self) -> str:
        """The format of the first file."""
        for path in self._paths:
            for lines in text_files(path):
                return self._format_of(lines)
        return OTHER

    def _tables(self) -> Iterator[Iterable[Row]]:
        if self._hub is not None:
            rows = hub_rows(self._hub, self.source, PREFERRED_SPLITS)
            yield ((f"{self.source}[{index}]", row) for index, row in enumerate(rows))
        for path in self._paths:
            for lines in text_files(path):
                yield PAIR_FORMATS[self._format_of(lines)](lines)

    def _format_of(self, lines: Lines) -> str:
        suffix = without_compression(Path(PurePosixPath(lines.name).name)).suffix.lower()
        return self._format or guess(suffix, lines, self._columns)


def open_sentence_pairs(
    source: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    columns: Iterable[str] | None = None,
) -> SentencePairs:
    """Sentence pairs, or single sentences, from a file, a pattern, a folder or a data set.

    Files may be compressed or archives, as for `open_treebank`.  Formats:

    * ``mrpc``: what Microsoft distributes, and GLUE: tabs, a header with ``#1 String``, and
      quotation marks that are never closed because they are characters;
    * ``cola``: four columns without a header, the sentence in the last; GLUE's the same;
    * ``mnli``: JSON lines with ``sentence1``, ``sentence2`` and ``gold_label``, or the same as
      columns, as GLUE has it.  A pair without a gold label (``-``) has the label None;
    * ``tsv``, ``csv``, ``jsonl``: any other columns with a header, or keys.

    Blank lines are passed over; any other line that holds no pair is refused.

    Args:
        source: A path, a pattern, a folder, or ``hf:NAME[:CONFIG][:SPLIT][:COLUMN]`` for a data
            set of the library ``datasets``, such as ``hf:glue:mrpc:validation``.
        format: One of `PAIR_FORMATS`; by default the suffix and the first line of a file say it.
        split: Of a data set the split, by default the validation split, else the test split, else
            the training split; of files those that have it in their names, by default all.
        columns: The name of the column with the sentence, or the names of two; by default they are
            found by the names that such data sets give them.

    Raises:
        UsageError: The format is unknown, or options do not go together.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None and format not in PAIR_FORMATS:
        raise UnknownNameError("format of sentence pairs", format, PAIR_FORMATS)
    wanted = None if columns is None else tuple(columns)
    if wanted is not None and len(wanted) not in (1, 2):
        raise UsageError(f"sentences are in one column or two, not in {len(wanted)}.")
    text = str(source)
    if text.startswith(PREFIX):
        return _of_hub(text, format, split, wanted)
    found = [path for path in files(text) if split is None or split in path.name]
    if not found:
        raise CorpusError(f"no file of {printable(source)} has {split!r} in its name.")
    return SentencePairs(printable(source), found, format, wanted)


def _of_hub(
    source: str, format: str | None, split: str | None, columns: tuple[str, ...] | None
) -> SentencePairs:
    if format is not None:
        raise UsageError(f"{source!r} has a format of its own; leave out the format {format!r}.")
    parts = HubSource.parsed(source)
    if split and parts.split and split != parts.split:
        raise UsageError(f"{source!r} names a split already; leave out the split {split!r}.")
    if parts.column and columns is None:
        columns = (parts.column,)
    parts = HubSource(parts.name, parts.config, split or parts.split)
    return SentencePairs(source.replace("\n", " "), [], None, columns, parts)
