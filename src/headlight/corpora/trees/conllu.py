"""CoNLL-U: what Universal Dependencies are written in."""

from dataclasses import dataclass

from headlight.corpora.trees.blocks import Block
from headlight.corpora.trees.layouts import Layout, Row, number
from headlight.errors import CorpusError

CONLLU = Layout(
    range(10, 11), number=0, word=1, upos=3, xpos=4, head=6, relation=7, one_root=True
)  # fmt: skip
MISC = 9

NEW_DOCUMENT = "newdoc"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lines of a sentence, told apart.

    Attributes:
        words: The syntactic words.
        ranges: Multi-word tokens, such as ``3-4``.
        empty: Empty nodes, such as ``8.1``, each with the number of words before it.
    """

    words: tuple[Row, ...]
    ranges: tuple[Row, ...]
    empty: tuple[tuple[int, Row], ...]


def begins_document(block: Block) -> bool:
    """Whether a document begins here."""
    return _new_document(block) is not None


def new_document(block: Block, current: str) -> str:
    """The document that a sentence belongs to: what ``# newdoc id = ...`` says, else `current`."""
    found = _new_document(block)
    return current if found is None else found


def _new_document(block: Block) -> str | None:
    for index, line in enumerate(block.lines):
        key, _, value = line.removeprefix("#").partition("=")
        if line.startswith("#") and key.split() in ([NEW_DOCUMENT], [NEW_DOCUMENT, "id"]):
            return value.strip() or block.place(index)
    return None


def tokens(block: Block) -> Tokens:
    """Words, multi-word tokens and empty nodes of a sentence; comments are left out.

    Raises:
        CorpusError: The number of a multi-word token or of an empty node does not fit its place.
    """
    words: list[Row] = []
    ranges: list[Row] = []
    empty: list[tuple[int, Row]] = []
    covered = 0
    for index, line in enumerate(block.lines):
        if line.startswith("#"):
            continue
        row = Row(index, line.split("\t"))
        name = row.fields[0]
        if "-" in name:
            covered = _end_of_range(block, row, len(words), covered)
            ranges.append(row)
        elif "." in name:
            _check_empty_node(block, row, len(words))
            empty.append((len(words), row))
        else:
            words.append(row)
    if covered > len(words):
        _refuse(block, ranges[-1], "the multi-word token ends after the last word")
    return Tokens(tuple(words), tuple(ranges), tuple(empty))


def _end_of_range(block: Block, row: Row, before: int, covered: int) -> int:
    """The number of the last word of a multi-word token."""
    _check_width(block, row)
    first, _, last = row.fields[0].partition("-")
    start, end = number(first), number(last)
    if start is None or end is None or end < start:
        _refuse(block, row, f"{row.fields[0]!r} is no range of words")
    elif start != before + 1 or start <= covered:
        _refuse(block, row, f"the multi-word token {row.fields[0]} is not before its first word")
    return end or 0


def _check_empty_node(block: Block, row: Row, before: int) -> None:
    _check_width(block, row)
    word, _, node = row.fields[0].partition(".")
    if number(node) is None or number(word) != before:
        _refuse(block, row, f"the empty node {row.fields[0]!r} is not after the word it names")


def _check_width(block: Block, row: Row) -> None:
    # Words are checked with their trees, for all formats alike.
    if len(row.fields) not in CONLLU.widths:
        _refuse(block, row, f"the line has {len(row.fields)} columns instead of 10")


def _refuse(block: Block, row: Row, complaint: str) -> None:
    raise CorpusError(f"{block.place(row.line)}: {complaint}; correct the sentence.")
