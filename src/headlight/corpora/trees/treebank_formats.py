"""The formats that treebanks have, and how they are told apart."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from headlight.corpora.trees.blocks import Block
from headlight.corpora.trees.conllu import CONLLU, tokens
from headlight.corpora.trees.layouts import UNIVERSAL, Layout, Row, number
from headlight.errors import CorpusError

MANY = 10**6

CONLLX = Layout(range(8, 11), number=0, word=1, upos=3, xpos=4, head=6, relation=7)
"""CoNLL-X (2006, 2007): ID FORM LEMMA CPOSTAG POSTAG FEATS HEAD DEPREL PHEAD PDEPREL."""

CONLL2009 = Layout(range(12, MANY), number=0, word=1, upos=4, xpos=4, head=8, relation=10)
"""CoNLL 2009: ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL ..."""

COLUMNS = Layout(range(3, 5), word=0, upos=1, xpos=1, head=2, relation=3)
"""A word, its part of speech, its head, and its relation where there is one."""

WORDS = Layout(range(3, 4), word=0, head=1, relation=2)
"""What `word_rows` makes of the lines of Clark et al. (2019)."""

BLANKS = re.compile(r"[ \t]+")


def numbered_rows(block: Block) -> tuple[Row, ...]:
    """The words of formats that number them; lines that begin with ``#`` are comments."""
    return tuple(
        Row(index, line.split("\t"))
        for index, line in enumerate(block.lines)
        if not line.startswith("#")
    )


def column_rows(block: Block) -> tuple[Row, ...]:
    """The words of plain columns; ``#`` is a word like others.

    Tabs separate columns, or blanks where a line has no tabs.
    """
    return tuple(Row(index, split_columns(line)) for index, line in enumerate(block.lines))


def split_columns(line: str) -> list[str]:
    """Columns separated by tabs, or by blanks where there are no tabs."""
    return line.split("\t") if "\t" in line else BLANKS.split(line.strip(" "))


def word_rows(block: Block) -> tuple[Row, ...]:
    """Word, head and relation of lines such as ``house 3-nmod:of-which``.

    The input format of Clark et al. (2019), Section 4.  Only the first hyphen after the number
    separates, so that the names of relations may hold others.

    Raises:
        CorpusError: A line is not of this form.
    """
    rows = []
    for index, line in enumerate(block.lines):
        parts = BLANKS.split(line.strip(" \t"))
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
    """Format of a treebank: how lines become rows, and what their columns mean."""

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
    """The format of a file, by its suffix, else by its first sentence.

    Raises:
        CorpusError: It looks like none of them.
    """
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    lines = [line for line in block.lines if not line.startswith("#")] or [block.lines[0]]
    fields = split_columns(lines[0])
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
