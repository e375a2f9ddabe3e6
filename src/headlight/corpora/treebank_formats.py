"""The formats that treebanks have, and how they are told apart."""

from collections.abc import Callable
from dataclasses import dataclass

from headlight.corpora.blocks import Block
from headlight.corpora.conllu import CONLLU, tokens
from headlight.corpora.layouts import UNIVERSAL, Layout, Row, number
from headlight.corpora.older_treebanks import (
    COLUMNS,
    CONLL2009,
    CONLLX,
    WORDS,
    column_rows,
    numbered_rows,
    split_columns,
    word_rows,
)
from headlight.errors import CorpusError


@dataclass(frozen=True, slots=True)
class TreebankFormat:
    """How the lines of a sentence become rows, and what their columns mean."""

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
        return _numbered(block, len(fields))
    if len(fields) in COLUMNS.widths and number(fields[COLUMNS.head]) is not None:
        return "columns"
    if len(fields) == 2 and number(fields[1].partition("-")[0]) is not None:
        return "words"
    names = ", ".join(TREEBANK_FORMATS)
    raise CorpusError(
        f"{block.place(0)}: the first sentence is in none of the formats of treebanks ({names}); "
        "leave the file out, or name its format."
    )


def _numbered(block: Block, width: int) -> str:
    if width in CONLL2009.widths:
        return "conll2009"
    # The columns of CoNLL-U and of CoNLL-X lie alike; comments and universal tags are the former's.
    rows = [line.split("\t") for line in block.lines if not line.startswith("#")]
    universal = all(len(row) > 3 and row[3] in UNIVERSAL | {"_"} for row in rows)
    commented = len(rows) < len(block.lines)
    return "conllu" if width in CONLLU.widths and (universal or commented) else "conllx"
