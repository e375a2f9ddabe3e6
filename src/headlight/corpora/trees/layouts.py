"""From the columns of a sentence to a `Sentence`, once for all formats."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.trees import Sentence, fault
from headlight.corpora.trees.blocks import Block
from headlight.errors import CorpusError

UNIVERSAL = frozenset({
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
})  # fmt: skip
"""The parts of speech of Universal Dependencies."""

NOTHING = "_"
DIGITS = 9


@dataclass(frozen=True, slots=True)
class Row:
    """One word: the line of the block that it stands in, and its columns."""

    line: int
    fields: Sequence[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of columns, from 0; None where a format has no such column.

    Attributes:
        widths: How many columns a line may have.
        one_root: Whether a sentence must have exactly one root.
    """

    widths: range
    word: int
    head: int
    relation: int | None = None
    number: int | None = None
    upos: int | None = None
    xpos: int | None = None
    one_root: bool = False


def sentence_of_rows(
    block: Block, rows: Sequence[Row], layout: Layout, *, document: str = "", heads: bool = True
) -> Sentence:
    """The sentence that the rows of a block hold.

    Args:
        block: Where the rows come from, for messages.
        rows: At least one.
        layout: What their columns mean.
        document: The document it belongs to.
        heads: Whether it must have governors; otherwise columns of ``_`` are taken as none.

    Raises:
        CorpusError: The number of columns, the numbers of the words, a word or the tree is wrong.
    """
    _check_shape(block, rows, layout)
    governors: tuple[int, ...] = ()
    if heads or any(row.fields[layout.head] != NOTHING for row in rows):
        governors = _governors(block, rows, layout)
    return Sentence(
        name=block.place(rows[0].line),
        words=tuple(row.fields[layout.word] for row in rows),
        heads=governors,
        relations=_column(rows, layout.relation) if governors else (),
        upos=_universal(_column(rows, layout.upos)),
        xpos=_column(rows, layout.xpos),
        document=document,
    )


def number(text: str) -> int | None:
    """A number that is written with digits only, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None


def _check_shape(block: Block, rows: Sequence[Row], layout: Layout) -> None:
    width = len(rows[0].fields)
    for count, row in enumerate(rows, start=1):
        place = block.place(row.line)
        if len(row.fields) not in layout.widths:
            raise CorpusError(
                f"{place}: the line has {len(row.fields)} columns instead of "
                f"{_range(layout.widths)}; check that tabs separate them, or name the format."
            )
        if len(row.fields) != width:
            raise CorpusError(
                f"{place}: the line has {len(row.fields)} columns, but the sentence begins with "
                f"{width}; complete the line."
            )
        if layout.number is not None and number(row.fields[layout.number]) != count:
            raise CorpusError(
                f"{place}: the word is numbered {row.fields[layout.number]!r} instead of {count}; "
                "number the words of a sentence from 1, without gaps."
            )
        if not row.fields[layout.word].strip():
            raise CorpusError(f"{place}: the word is empty; write it, or leave out the sentence.")


def _governors(block: Block, rows: Sequence[Row], layout: Layout) -> tuple[int, ...]:
    heads = []
    for row in rows:
        text = row.fields[layout.head]
        head = number(text)
        if head is None or head > len(rows):
            raise CorpusError(
                f"{block.place(row.line)}: the head {text!r} is not a number from 0 (the root) to "
                f"{len(rows)} (the last word); correct the sentence."
            )
        heads.append(head)
    found = fault(heads, one_root=layout.one_root)
    if found is not None:
        word, complaint = found
        raise CorpusError(f"{block.place(rows[word].line)}: {complaint}; correct the tree.")
    return tuple(heads)


def _column(rows: Sequence[Row], column: int | None) -> tuple[str, ...]:
    """One column; nothing when the format or all of the sentence lacks it."""
    if column is None or column >= len(rows[0].fields):
        return ()
    values = tuple(row.fields[column] for row in rows)
    return () if all(value in (NOTHING, "") for value in values) else values


def _universal(tags: tuple[str, ...]) -> tuple[str, ...]:
    # The same column holds universal tags in one treebank and those of a language in another.
    return tags if UNIVERSAL.issuperset(tag for tag in tags if tag != NOTHING) else ()


def _range(widths: range) -> str:
    if len(widths) == 1:
        return str(widths[0])
    return f"{widths[0]} to {widths[-1]}" if len(widths) < 100 else f"at least {widths[0]}"
