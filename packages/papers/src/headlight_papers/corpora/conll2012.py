"""Coreference in the columns of CoNLL-2012 (OntoNotes), and in those of LitBank."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headlight.corpora.trees import Sentence
from headlight.corpora.trees.blocks import Block
from headlight.corpora.trees.layouts import number
from headlight.corpora.trees.treebank_formats import split_columns
from headlight.errors import CorpusError
from headlight_papers.corpora.brackets import Brackets
from headlight_papers.corpora.coreference import Annotated, Limit, RawDocument, annotate
from headlight_papers.corpora.mention_rules import constituency_heads, kinds, surface_heads
from headlight_papers.corpora.phrases import Constituent, constituents

BEGIN, END = "#begin document", "#end document"
TITLE = re.compile(r"\((?P<name>.*)\);?\s*(?:part\s*(?P<part>\S+))?")
MENTION = re.compile(r"\(([^()|]+)\)|\(([^()|]+)|([^()|]+)\)")

FEWEST = 12
NUMBER, WORD, TAG, BIT = 2, 3, 4, 5
NO_MENTION = frozenset({"-", "_", "*", ""})
NO_TAG = frozenset({"-", "_", ""})


@dataclass(slots=True)
class _Gathering:
    """A document of which the end has not been seen."""

    place: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    limit: Limit = field(default_factory=Limit)

    def add(self, block: Block) -> None:
        self.limit.add(block, self.place)
        self.blocks.append(block)

    def finish(self, fault: CorpusError | None = None) -> RawDocument:
        return RawDocument(self.place, tuple(self.blocks), self.title, fault)

    def cut_short(self) -> RawDocument:
        return self.finish(
            CorpusError(f"{self.place}: the document that begins here has no '{END}'; add it.")
        )


def conll2012_documents(stream: Iterator[Block]) -> Iterator[RawDocument]:
    """The documents of a file: from ``#begin document`` to ``#end document``.

    Raises:
        CorpusError: There is something outside the documents.
    """
    current: _Gathering | None = None
    for block in stream:
        for piece in _pieces(block):
            if piece.lines[0].startswith(BEGIN):
                if current:
                    yield current.cut_short()
                current = _Gathering(piece.place(0), _title(piece.lines[0]))
            elif current is None:
                raise CorpusError(
                    f"{piece.place(0)}: the line is outside '{BEGIN} ...' and '{END}'; "
                    "correct the file, or name its format."
                )
            elif piece.lines[0].startswith(END):
                yield current.finish()
                current = None
            else:
                current.add(piece)
    if current:
        yield current.cut_short()


def parse_conll2012(raw: RawDocument) -> Annotated:
    """A document with its mentions.

    Raises:
        CorpusError: The columns, the tree or a bracket is wrong.
    """
    if raw.fault:
        raise raw.fault
    brackets = Brackets()
    sentences: list[Sentence] = []
    trees: list[Constituent | None] = []
    start = 0
    for block in raw.blocks:
        rows = _rows(block)
        for index, row in enumerate(rows):
            _read_brackets(row[-1], start + index, block.place(index), brackets)
        sentences.append(_sentence(block, rows, raw.title))
        trees.append(_tree(block, rows, start))
        start += len(rows)
    spans = brackets.finish()
    words = [word for sentence in sentences for word in sentence.words]
    parsed = [tree for tree in trees if tree is not None]
    rule = constituency_heads(parsed) if len(parsed) == len(trees) else surface_heads(words)
    return annotate(raw.name(raw.title), sentences, spans, rule, kinds(sentences))


def _pieces(block: Block) -> Iterator[Block]:
    """The block, cut before and after each line that begins or ends a document."""
    start = 0
    for index, line in enumerate(block.lines):
        if line.startswith((BEGIN, END)):
            if start < index:
                yield Block(block.file, block.start + start, block.lines[start:index])
            yield Block(block.file, block.start + index, (line,))
            start = index + 1
    if start < len(block.lines):
        yield Block(block.file, block.start + start, block.lines[start:])


def _title(line: str) -> str:
    text = line.removeprefix(BEGIN).strip()
    match = TITLE.fullmatch(text)
    if not match:
        return text
    return match["name"] + (f", part {match['part']}" if match["part"] else "")


def _rows(block: Block) -> list[list[str]]:
    rows = [split_columns(line) for line in block.lines]
    for index, row in enumerate(rows):
        place = block.place(index)
        if len(row) < FEWEST or len(row) != len(rows[0]):
            wanted = f"at least {FEWEST}" if len(row) < FEWEST else f"{len(rows[0])} as above"
            raise CorpusError(
                f"{place}: the line has {len(row)} columns instead of {wanted}; correct the line."
            )
        first = number(rows[0][NUMBER])
        if first is None or number(row[NUMBER]) != first + index:
            raise CorpusError(
                f"{place}: the word is numbered {row[NUMBER]!r}, which does not continue the "
                "sentence; number its words without gaps."
            )
        if not row[WORD].strip():
            raise CorpusError(f"{place}: the word is empty; write it, or leave out the document.")
    return rows


def _sentence(block: Block, rows: Sequence[Sequence[str]], document: str) -> Sentence:
    tags = tuple(row[TAG] for row in rows)
    return Sentence(
        name=block.place(0),
        words=tuple(row[WORD] for row in rows),
        xpos=() if NO_TAG.issuperset(tags) else tags,
        document=document,
    )


def _tree(block: Block, rows: Sequence[Sequence[str]], start: int) -> Constituent | None:
    """The tree of a sentence; None where its column is empty or holds words alone."""
    bits = [row[BIT] for row in rows]
    if NO_MENTION.issuperset(bits):
        return None
    try:
        return constituents(bits, [row[TAG] for row in rows], start)
    except ValueError as error:
        complaint, index = error.args
        raise CorpusError(
            f"{block.place(index)}: {complaint}; correct the bracket column."
        ) from error


def _read_brackets(text: str, word: int, place: str, brackets: Brackets) -> None:
    if text in NO_MENTION:
        return
    for item in text.split("|"):
        match = MENTION.fullmatch(item)
        if match is None:
            raise CorpusError(
                f"{place}: {text[:80]!r} in the last column is not made of brackets such as (12, "
                "12) or (12), joined by |; correct the document."
            )
        single, opened, closed = match.groups()
        if single or opened:
            brackets.open(single or opened, word, place)
        if single or closed:
            brackets.close(single or closed, word, place)
