"""Formats of dependency trees that are older, or smaller, than CoNLL-U."""

import re

from headlight.corpora.blocks import Block
from headlight.corpora.layouts import Layout, Row
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
