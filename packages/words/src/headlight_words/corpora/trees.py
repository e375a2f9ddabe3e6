"""Sentences with heads, and formats with one word per line."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.corpora.line_blocks import Block
from headlight.corpora.sentence import Sentence
from headlight.corpora.tables import number
from headlight.errors import CorpusError

ROOT = 0
"""Number of the governor of a root, which has none."""


def fault(heads: Sequence[int], *, one_root: bool) -> tuple[int, str] | None:
    """Return why `heads` are no tree: the number of a word, from 0, and a complaint; else None.

    Args:
        heads: Number of each word's governor, from 1, within the sentence; 0 for roots.
        one_root: Whether a second root is a fault.
    """
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if not roots:
        return 0, "no word of the sentence is its root (head 0)"
    if one_root and len(roots) > 1:
        return roots[1], f"the sentence has {len(roots)} roots (head 0) instead of one"
    word = _find_cycle(heads)
    if word is not None:
        return word, f"word {word + 1} governs itself, directly or through others"
    return None


def depths(heads: Sequence[int]) -> list[int]:
    """Return the number of words above every word of a tree."""
    depth = [-1] * len(heads)
    for word in range(len(heads)):
        path = []
        while word >= 0 and depth[word] < 0:
            path.append(word)
            word = heads[word] - 1
        above = depth[word] if word >= 0 else -1
        for distance, below in enumerate(reversed(path), start=1):
            depth[below] = above + distance
    return depth


def _find_cycle(heads: Sequence[int]) -> int | None:
    # Every word is entered once: it remembers from which word the walk towards the root began.
    walk = [-1] * len(heads)
    for start in range(len(heads)):
        word = start
        while word >= 0 and walk[word] < 0:
            walk[word] = start
            word = heads[word] - 1
        if word >= 0 and walk[word] == start:
            return word
    return None


UNIVERSAL = frozenset(
    {
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    }
)
"""The parts of speech of Universal Dependencies."""

NOTHING = "_"


@dataclass(frozen=True, slots=True)
class Row:
    """A word: the line of the block that it stands in, and its columns."""

    line: int
    fields: Sequence[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of columns, from 0; None where a format has no such column.

    Attributes:
        widths: Permitted numbers of columns in a line.
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
    """Return the sentence that the rows of a block hold.

    Args:
        block: Block that the rows come from, for messages.
        rows: Rows of the words, at least one.
        layout: Layout of their columns.
        document: Document that the sentence belongs to.
        heads: Whether it must have governors; otherwise a column of ``_`` means that it has none.

    Raises:
        CorpusError: The number of columns, the numbers of the words, a word or the tree is wrong.
    """
    _check_shape(block, rows, layout)
    governors: tuple[int, ...] = ()
    # Coreference corpora may have all columns of trees without a tree.
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
    problem = fault(heads, one_root=layout.one_root)
    if problem is not None:
        word, complaint = problem
        raise CorpusError(f"{block.place(rows[word].line)}: {complaint}; correct the tree.")
    return tuple(heads)


def _column(rows: Sequence[Row], column: int | None) -> tuple[str, ...]:
    """Return a column; an empty tuple when the format or all of the sentence lacks it."""
    if column is None or column >= len(rows[0].fields):
        return ()
    values = tuple(row.fields[column] for row in rows)
    # A column of placeholders is a column that the sentence does not have.
    return () if all(value in (NOTHING, "") for value in values) else values


def _universal(tags: tuple[str, ...]) -> tuple[str, ...]:
    # The same column holds universal tags in one treebank and those of a language in another.
    return tags if UNIVERSAL.issuperset(tag for tag in tags if tag != NOTHING) else ()


def _range(widths: range) -> str:
    if len(widths) == 1:
        return str(widths[0])
    return f"{widths[0]} to {widths[-1]}" if len(widths) < 100 else f"at least {widths[0]}"


CONLLU = Layout(range(10, 11), number=0, word=1, upos=3, xpos=4, head=6, relation=7, one_root=True)
MISC = 9

NEW_DOCUMENT = "newdoc"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lines of a sentence, told apart.

    Attributes:
        words: Syntactic words.
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
    """Return the document of a sentence, by ``# newdoc id = ...``; else `current`."""
    new = _new_document(block)
    return current if new is None else new


def _new_document(block: Block) -> str | None:
    for index, line in enumerate(block.lines):
        key, _, value = line.removeprefix("#").partition("=")
        if line.startswith("#") and key.split() in ([NEW_DOCUMENT], [NEW_DOCUMENT, "id"]):
            return value.strip() or block.place(index)
    return None


def tokens(block: Block) -> Tokens:
    """Return words, multi-word tokens and empty nodes of a sentence; comments are left out.

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
        # Only the end of the sentence shows that a range reaches beyond it.
        _refuse(block, ranges[-1], "the multi-word token ends after the last word")
    return Tokens(tuple(words), tuple(ranges), tuple(empty))


def _end_of_range(block: Block, row: Row, before: int, covered: int) -> int:
    """Return the number of the last word of a multi-word token."""
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
