"""The door to treebanks: sentences with gold trees, one at a time."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from headlight.corpora.archives import text_files
from headlight.corpora.compression import without_compression
from headlight.corpora.files import files, printable
from headlight.corpora.lines import Lines
from headlight.corpora.trees.blocks import Block, blocks
from headlight.corpora.trees.conllu import new_document
from headlight.corpora.trees.layouts import sentence_of_rows
from headlight.corpora.trees.sentence import Sentence
from headlight.corpora.trees.treebank_formats import TREEBANK_FORMATS, guess
from headlight.errors import CorpusError, UnknownNameError

BROKEN_CHOICES = ("refuse", "skip")


class Treebank:
    """Sentences in a fixed order, read while one iterates; it can be iterated again.

    Attributes:
        source: What it was opened from, as reports show it.
        skipped: How many broken sentences the latest iteration has left out so far.
    """

    def __init__(self, source: str, paths: list[Path], format: str | None, broken: str) -> None:
        self.source = source
        self.skipped = 0
        self._paths = paths
        self._format = format
        self._skip = broken == "skip"

    def __repr__(self) -> str:
        return f"Treebank({self.source!r})"

    def __iter__(self) -> Iterator[Sentence]:
        """The sentences.

        Raises:
            CorpusError: A file cannot be read, a sentence is broken, or there are none.
        """
        self.skipped = 0
        empty = True
        for path in self._paths:
            for lines in text_files(path):
                for sentence in self._sentences(lines):
                    empty = False
                    yield sentence
        if empty and self.skipped:
            raise CorpusError(f"all {self.skipped} sentences of {self.source} are broken.")
        if empty:
            raise CorpusError(f"{self.source} holds no sentence; nothing can be said about it.")

    def _sentences(self, lines: Lines) -> Iterator[Sentence]:
        stream = blocks(lines)
        first = next(stream, None)
        if first is None:
            return
        suffix = without_compression(Path(PurePosixPath(lines.name).name)).suffix.lower()
        format = self._format or guess(suffix, first)
        document = ""
        for block in chain([first], stream):
            if format == "conllu":
                document = new_document(block, document)
            sentence = self._sentence(block, format, document)
            if sentence is not None:
                yield sentence

    def _sentence(self, block: Block, format: str, document: str) -> Sentence | None:
        """The sentence of a block; None for comments alone, and for a broken one to be skipped."""
        chosen = TREEBANK_FORMATS[format]
        try:
            rows = chosen.rows(block)
            if not rows:
                return None
            return sentence_of_rows(block, rows, chosen.layout, document=document)
        except CorpusError:
            if not self._skip:
                raise
            self.skipped += 1
            return None


def open_treebank(
    source: str | Path, *, format: str | None = None, broken: str = "refuse"
) -> Treebank:
    """A treebank from a file, a pattern or a folder.

    Files may be compressed (``.gz .xz .bz2 .zst``) or archives (``.tar``, also compressed, and
    ``.zip``), which are read member by member.  Formats:

    * ``conllu``: CoNLL-U, with exactly one root; multi-word ranges and empty nodes are no words;
    * ``conllx``, ``conll2009``: the ten columns of 2006 and the twelve or more of 2009;
    * ``columns``: word, part of speech, head, and perhaps the relation;
    * ``words``: ``word head-relation``, the format of Clark et al. (2019).

    Args:
        source: A path, a pattern such as ``"ptb/**/*.conllx"``, or a folder.
        format: One of `TREEBANK_FORMATS`.  By default the suffix says it (``.conllu .conllx
            .conll09``), or the first sentence of each file.
        broken: What becomes of a sentence whose columns, numbers or tree are wrong: ``refuse``
            raises, ``skip`` leaves it out and counts it.

    Raises:
        UsageError: The format or the choice is unknown.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None and format not in TREEBANK_FORMATS:
        raise UnknownNameError("treebank format", format, TREEBANK_FORMATS)
    if broken not in BROKEN_CHOICES:
        raise UnknownNameError("way with broken sentences", broken, BROKEN_CHOICES)
    return Treebank(printable(source), files(str(source)), format, broken)
