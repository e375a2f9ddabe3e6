"""Coreference in CoNLL-U: the brackets that ``Entity=`` holds (CorefUD, GUM, OntoGUM)."""

import re
from collections.abc import Iterator, Sequence

from headlight.corpora.trees import Sentence
from headlight.corpora.trees.blocks import Block
from headlight.corpora.trees.conllu import (
    CONLLU,
    MISC,
    Tokens,
    begins_document,
    new_document,
    tokens,
)
from headlight.corpora.trees.layouts import Row, sentence_of_rows
from headlight.errors import CorpusError
from headlight_papers.corpora.brackets import WHOLE, Brackets, Part
from headlight_papers.corpora.coreference import Annotated, RawDocument, annotate, gather
from headlight_papers.corpora.mention_rules import dependency_heads, kinds, surface_heads

KEY = "Entity="
BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
PART = re.compile(r"(.+)\[(\d{1,9})/(\d{1,9})\]")
GLOBAL = re.compile(r"#\s*global\.Entity\s*=\s*(\S+)")
CHAIN_FIELDS = ("GRP", "eid")


def entity_documents(stream: Iterator[Block]) -> Iterator[RawDocument]:
    """The documents of a file: from one ``# newdoc`` to the next, or all of it."""
    return gather(stream, begins=begins_document)


def parse_entities(raw: RawDocument) -> Annotated:
    """A document of CoNLL-U with its mentions.

    Raises:
        CorpusError: A sentence, its tree or a bracket is wrong.
    """
    brackets = Brackets()
    sentences: list[Sentence] = []
    start = 0
    field = 0
    identity = new_document(raw.blocks[0], "")
    for block in raw.blocks:
        found = tokens(block)
        field = _chain_field(block, field)
        if not found.words:
            continue
        sentence = sentence_of_rows(block, found.words, CONLLU, document=identity, heads=False)
        _read_brackets(block, found, brackets, start, field)
        sentences.append(sentence)
        start += len(sentence)
    spans = brackets.finish()
    words = [word for sentence in sentences for word in sentence.words]
    parsed = all(sentence.heads for sentence in sentences)
    rule = dependency_heads(sentences) if parsed else surface_heads(words)
    return annotate(raw.name(identity), sentences, spans, rule, kinds(sentences))


def _read_brackets(block: Block, found: Tokens, brackets: Brackets, start: int, field: int) -> None:
    for row in found.ranges:
        if _entity(row):
            raise CorpusError(
                f"{block.place(row.line)}: a multi-word token has an Entity; move it to its words."
            )
    for row, opening, closing in _in_order(found, start):
        place = block.place(row.line)
        for chain, part, opens, closes in _events(_entity(row), field, place):
            if opens:
                brackets.open(chain, opening, place, part)
            if closes:
                brackets.close(chain, closing, place, part)


def _in_order(found: Tokens, start: int) -> list[tuple[Row, int, int]]:
    """Words and empty nodes by line; where a mention that opens or closes there begins or ends.

    At an empty node a mention begins with the next word, and ends with the one before.
    """
    words = [(row, start + n, start + n) for n, row in enumerate(found.words)]
    empty = [(row, start + before, start + before - 1) for before, row in found.empty]
    return sorted(words + empty, key=lambda item: item[0].line)


def _entity(row: Row) -> str:
    attributes = row.fields[MISC].split("|")
    return "".join(item.removeprefix(KEY) for item in attributes if item.startswith(KEY))


def _events(text: str, field: int, place: str) -> Iterator[tuple[str, Part, bool, bool]]:
    """Chain, part, and whether it opens and closes, for every bracket of an ``Entity=``.

    Raises:
        CorpusError: The text is not made of brackets, or names no chain.
    """
    end = 0
    for match in BRACKET.finditer(text):
        if match.start() != end:
            break
        end = match.end()
        opened, single, closed = match.groups()
        chain, part = _chain(opened or closed, field, place)
        yield chain, part, bool(opened), bool(single or closed)
    if end != len(text):
        raise CorpusError(
            f"{place}: Entity={text[:80]!r} is not made of brackets such as (1-person, 1) or (1); "
            "correct the document."
        )


def _chain(text: str, field: int, place: str) -> tuple[str, Part]:
    fields = text.split("-")
    # Closing brackets may repeat all fields or name the chain alone.
    chain = fields[field if len(fields) > field else 0]
    numbered = PART.fullmatch(chain)
    if numbered:
        chain = numbered[1]
        part = Part(int(numbered[2]), int(numbered[3]))
        if not 1 <= part.number <= part.count:
            raise CorpusError(
                f"{place}: there is no part {numbered[2]} of {numbered[3]}; correct it."
            )
        return chain, part
    if not chain:
        raise CorpusError(f"{place}: the mention {text[:80]!r} names no chain; correct it.")
    return chain, WHOLE


def _chain_field(block: Block, current: int) -> int:
    """Return the field of a bracket that names the chain, by ``# global.Entity`` or the first."""
    for line in block.lines:
        match = GLOBAL.match(line)
        if match:
            names: Sequence[str] = match[1].split("-")
            return next((names.index(name) for name in CHAIN_FIELDS if name in names), 0)
    return current
