"""Corpora of trees, and the formats of their lines."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from headlight.corpora.corpus import (
    Corpus,
    CorpusCounts,
    Invalid,
    corpus_in_memory,
    corpus_of_files,
    unless_invalid,
)
from headlight.corpora.line_blocks import Block, blocks
from headlight.corpora.lines import Lines
from headlight.corpora.sentence import Sentence
from headlight.corpora.tables import number
from headlight.errors import CorpusError
from headlight.files import Location
from headlight.settings import require_choice
from headlight_words.corpora.samples import name_sample
from headlight_words.corpora.trees import (
    CONLLU,
    UNIVERSAL,
    Layout,
    Row,
    new_document,
    sentence_of_rows,
    tokens,
)

MANY = 10**6

CONLLX = Layout(range(8, 11), number=0, word=1, upos=3, xpos=4, head=6, relation=7)
"""CoNLL-X (2006, 2007): ID FORM LEMMA CPOSTAG POSTAG FEATS HEAD DEPREL PHEAD PDEPREL."""

CONLL2009 = Layout(range(12, MANY), number=0, word=1, upos=4, xpos=4, head=8, relation=10)
"""CoNLL 2009: ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL ..."""

COLUMNS = Layout(range(3, 5), word=0, upos=1, xpos=1, head=2, relation=3)
"""A word, its part of speech, its head, and its relation where there is one."""

WORDS = Layout(range(3, 4), word=0, head=1, relation=2)
"""Layout of the rows that `word_rows` makes of the lines of Clark et al. (2019)."""

BLANKS = re.compile(r"[ \t]+")


def numbered_rows(block: Block) -> tuple[Row, ...]:
    """Return the words of formats that number them; lines that begin with ``#`` are comments."""
    return tuple(
        Row(index, line.split("\t"))
        for index, line in enumerate(block.lines)
        if not line.startswith("#")
    )


def column_rows(block: Block) -> tuple[Row, ...]:
    """Return the words of plain columns; ``#`` is a word like others.

    Tabs separate columns, or blanks where a line has no tabs.
    """
    return tuple(Row(index, split_columns(line)) for index, line in enumerate(block.lines))


def split_columns(line: str) -> list[str]:
    """Split a line at its tabs, or at blanks where there are no tabs."""
    return line.split("\t") if "\t" in line else BLANKS.split(line.strip(" "))


def word_rows(block: Block) -> tuple[Row, ...]:
    """Return word, head and relation of lines such as ``house 3-nmod:of-which``.

    The input format of Clark et al. (2019), Section 4.  Only the first hyphen after the number
    separates, so that the names of relations may hold others.

    Raises:
        CorpusError: A line is not of this form.
    """
    rows = []
    for index, line in enumerate(block.lines):
        parts = BLANKS.split(line.strip(" \t"))
        # The relation may hold further hyphens, which belong to its name.
        head, hyphen, relation = parts[-1].partition("-")
        if len(parts) != 2 or not hyphen or not relation:
            raise CorpusError(
                f"{block.place(index)}: the line is not of the form 'word head-relation'; "
                "correct it, or name the format."
            )
        rows.append(Row(index, (parts[0], head, relation)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class TreebankFormat:
    """Format of a treebank: a function from lines to rows, and the layout of their columns."""

    rows: Callable[[Block], tuple[Row, ...]]
    layout: Layout


TREEBANK_FORMATS = {
    "conllu": TreebankFormat(lambda block: tokens(block).words, CONLLU),
    "conllx": TreebankFormat(numbered_rows, CONLLX),
    "conll2009": TreebankFormat(numbered_rows, CONLL2009),
    "columns": TreebankFormat(column_rows, COLUMNS),
    "words": TreebankFormat(word_rows, WORDS),
}
"""The formats a treebank may have."""

SUFFIXES = {".conllu": "conllu", ".conllx": "conllx", ".conll09": "conll2009"}


def guess(suffix: str, block: Block) -> str:
    """Return the format of a file, by its suffix, else by its first sentence.

    Raises:
        CorpusError: The sentence is in none of the formats.
    """
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    # Lines that all begin with `#` are no comments, but words in plain columns.
    lines = [line for line in block.lines if not line.startswith("#")] or [block.lines[0]]
    fields = split_columns(lines[0])
    # The number of the first word may be that of a range, such as `1-2`.
    if number(fields[0].partition("-")[0]) == 1 and len(fields) >= 8:
        return _guess_numbered(block, len(fields))
    if len(fields) in COLUMNS.widths and number(fields[COLUMNS.head]) is not None:
        return "columns"
    if len(fields) == 2 and number(fields[1].partition("-")[0]) is not None:
        return "words"
    names = ", ".join(TREEBANK_FORMATS)
    raise CorpusError(
        f"{block.place(0)}: the first sentence is in none of the formats of treebanks ({names}); "
        "leave the file out, or name its format."
    )


def _guess_numbered(block: Block, width: int) -> str:
    if width in CONLL2009.widths:
        return "conll2009"
    # The columns of CoNLL-U and of CoNLL-X lie alike; comments and universal tags are the former's.
    rows = [line.split("\t") for line in block.lines if not line.startswith("#")]
    universal = all(len(row) > 3 and row[3] in UNIVERSAL | {"_"} for row in rows)
    commented = len(rows) < len(block.lines)
    return "conllu" if width in CONLLU.widths and (universal or commented) else "conllx"


def open_treebank(
    source: str | Location | Iterable[Sentence],
    *,
    format: str | None = None,
    invalid: str = "refuse",
) -> Corpus[Sentence]:
    """Open a treebank from a file, a pattern or a folder.

    Files may be compressed (``.gz .xz .bz2 .zst``) or archives (``.tar``, also compressed, and
    ``.zip``), which are read member by member.  Formats:

    * ``conllu``: CoNLL-U, with exactly one root; multi-word ranges and empty nodes are no words;
    * ``conllx``, ``conll2009``: the ten columns of 2006 and the twelve or more of 2009;
    * ``columns``: word, part of speech, head, and perhaps the relation;
    * ``words``: ``word head-relation``, the format of Clark et al. (2019).

    Args:
        source: A path, a pattern such as ``"ptb/**/*.conllx"``, a folder, or sentences; an open
            treebank is returned unchanged.
        format: Name of a format in `TREEBANK_FORMATS`; by default inferred from the suffix
            (``.conllu .conllx .conll09``), or from the first sentence of each file.
        invalid: Treatment of a sentence whose columns, numbers or tree are wrong: ``refuse``
            raises, ``skip`` leaves it out and counts it.

    Raises:
        UsageError: The format or the choice is unknown, or sentences have a format.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None:
        require_choice("treebank format", format, TREEBANK_FORMATS)
    require_choice("way with invalid sentences", invalid, Invalid)
    if not isinstance(source, str | Location):
        return corpus_in_memory(source, "treebank", "sentences", element=Sentence, format=format)

    read = partial(_sentences, format=format, invalid=invalid)
    return name_sample(corpus_of_files(source, "treebank", read), source)


def _sentences(
    lines: Lines, counts: CorpusCounts, *, format: str | None, invalid: str
) -> Iterator[Sentence]:
    stream = blocks(lines)
    first = next(stream, None)
    if first is None:
        return
    format = format or guess(lines.suffix, first)
    document = ""
    for block in chain([first], stream):
        # Only CoNLL-U says where documents begin; the other formats hold one.
        if format == "conllu":
            document = new_document(block, document)
        parse = partial(_sentence, block, format, document)
        sentence = unless_invalid(parse, invalid, counts)
        if sentence is not None:
            yield sentence


def _sentence(block: Block, format: str, document: str) -> Sentence | None:
    chosen = TREEBANK_FORMATS[format]
    rows = chosen.rows(block)
    return sentence_of_rows(block, rows, chosen.layout, document=document) if rows else None
