"""Formats of gold coreference: CoNLL-2012 (OntoNotes, LitBank) and CoNLL-U (CorefUD, GUM)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, takewhile

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
from headlight_words.corpora.coreference import (
    WHOLE,
    Annotated,
    Brackets,
    CoreferenceDocument,
    Part,
    RawDocument,
    annotate_mentions,
    gather,
)
from headlight_words.corpora.mention_heads import (
    Constituent,
    constituency_heads,
    constituents,
    dependency_heads,
    kinds,
    surface_heads,
)
from headlight_words.corpora.samples import name_sample
from headlight_words.corpora.treebank import split_columns
from headlight_words.corpora.trees import (
    CONLLU,
    MISC,
    Row,
    Tokens,
    begins_document,
    new_document,
    sentence_of_rows,
    tokens,
)

BEGIN, END = "#begin document", "#end document"
TITLE = re.compile(r"\((?P<name>.*)\);?\s*(?:part\s*(?P<part>\S+))?")
MENTION = re.compile(r"\(([^()|]+)\)|\(([^()|]+)|([^()|]+)\)")

FEWEST = 12
NUMBER, WORD, TAG, BIT = 2, 3, 4, 5
NO_MENTION = frozenset({"-", "_", "*", ""})
NO_TAG = frozenset({"-", "_", ""})


def conll2012_documents(stream: Iterator[Block]) -> Iterator[RawDocument]:
    """Yield the documents of a file: from ``#begin document`` to ``#end document``.

    Raises:
        CorpusError: A line lies outside the documents.
    """
    pieces = (piece for block in stream for piece in _pieces(block))
    for raw in gather(pieces, lambda piece: piece.lines[0].startswith(BEGIN)):
        begin, *rest = raw.blocks
        inside = list(takewhile(lambda piece: not piece.lines[0].startswith(END), rest))
        outside = rest[len(inside) + 1 :] if begin.lines[0].startswith(BEGIN) else [begin]
        if outside:
            raise CorpusError(
                f"{outside[0].place(0)}: the line is outside '{BEGIN} ...' and '{END}'; "
                "correct the file, or name its format."
            )
        # A fault is kept with the document, so that `skip` can leave out this one and read on.
        fault = None
        if len(inside) == len(rest):
            message = f"{raw.place}: the document that begins here has no '{END}'; add it."
            fault = CorpusError(message)
        yield RawDocument(raw.place, tuple(inside), _title(begin.lines[0]), fault)


def parse_conll2012(raw: RawDocument) -> Annotated:
    """Return a document with its mentions.

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
    # Collins' rules need every sentence parsed; otherwise all heads come from the surface, alike.
    rule = constituency_heads(parsed) if len(parsed) == len(trees) else surface_heads(words)
    return annotate_mentions(raw.name(raw.title), sentences, spans, rule, kinds(sentences))


def _pieces(block: Block) -> Iterator[Block]:
    """Yield the block, cut before and after each line that begins or ends a document."""
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
    """Return the tree of a sentence; None where its column is empty or holds words alone."""
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


KEY = "Entity="
BRACKET = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
PART = re.compile(r"(.+)\[(\d{1,9})/(\d{1,9})\]")
GLOBAL = re.compile(r"#\s*global\.Entity\s*=\s*(\S+)")
CHAIN_FIELDS = ("GRP", "eid")


def entity_documents(stream: Iterator[Block]) -> Iterator[RawDocument]:
    """Yield the documents of a file: from one ``# newdoc`` to the next, or all of it."""
    return gather(stream, begins=begins_document)


def parse_entities(raw: RawDocument) -> Annotated:
    """Return a document of CoNLL-U with its mentions.

    Raises:
        CorpusError: A sentence, its tree or a bracket is wrong.
    """
    brackets = Brackets()
    sentences: list[Sentence] = []
    start = 0
    field = 0
    identity = new_document(raw.blocks[0], "")
    for block in raw.blocks:
        rows = tokens(block)
        # The declaration of the fields holds for all sentences behind it.
        field = _chain_field(block, field)
        if not rows.words:
            continue
        sentence = sentence_of_rows(block, rows.words, CONLLU, document=identity, heads=False)
        _read_entities(block, rows, brackets, start, field)
        sentences.append(sentence)
        start += len(sentence)
    spans = brackets.finish()
    words = [word for sentence in sentences for word in sentence.words]
    parsed = all(sentence.heads for sentence in sentences)
    rule = dependency_heads(sentences) if parsed else surface_heads(words)
    return annotate_mentions(raw.name(identity), sentences, spans, rule, kinds(sentences))


def _read_entities(block: Block, rows: Tokens, brackets: Brackets, start: int, field: int) -> None:
    # A multi-word token has no place among the words, at which a mention could begin.
    for row in rows.ranges:
        if _entity(row):
            raise CorpusError(
                f"{block.place(row.line)}: a multi-word token has an Entity; move it to its words."
            )
    for row, opening, closing in _order_rows(rows, start):
        place = block.place(row.line)
        for name, part, opens, closes in _events(_entity(row), field, place):
            if opens:
                brackets.open(name, opening, place, part)
            if closes:
                brackets.close(name, closing, place, part)


def _order_rows(rows: Tokens, start: int) -> list[tuple[Row, int, int]]:
    # At an empty node a mention begins with the next word, and ends with the one before.
    words = [(row, start + n, start + n) for n, row in enumerate(rows.words)]
    empty = [(row, start + before, start + before - 1) for before, row in rows.empty]
    return sorted(words + empty, key=lambda item: item[0].line)


def _entity(row: Row) -> str:
    attributes = row.fields[MISC].split("|")
    return "".join(item.removeprefix(KEY) for item in attributes if item.startswith(KEY))


def _events(text: str, field: int, place: str) -> Iterator[tuple[str, Part, bool, bool]]:
    """Yield chain, part, and whether it opens and closes, for every bracket of an ``Entity=``."""
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
            # A declaration without a known name of the chain leaves the first field.
            return next((names.index(name) for name in CHAIN_FIELDS if name in names), 0)
    return current


@dataclass(frozen=True, slots=True)
class CoreferenceFormat:
    """Format of annotated documents: functions that cut a file and parse a document."""

    documents: Callable[[Iterator[Block]], Iterator[RawDocument]]
    parse: Callable[[RawDocument], Annotated]


COREFERENCE_FORMATS = {
    "conllu": CoreferenceFormat(entity_documents, parse_entities),
    "conll2012": CoreferenceFormat(conll2012_documents, parse_conll2012),
}
"""The formats a coreference corpus may have."""


def open_coreference(
    source: str | Location | Iterable[CoreferenceDocument],
    *,
    format: str | None = None,
    invalid: str = "refuse",
) -> Corpus[CoreferenceDocument]:
    """Open a coreference corpus from a file, pattern, folder or archive, as `open_treebank`.

    Chains of one mention are kept where the annotation has them.  Formats:

    * ``conllu``: CoNLL-U with ``Entity=`` in the last column (CorefUD, GUM, OntoGUM);
    * ``conll2012``: ``#begin document`` to ``#end document`` with the brackets in the last column
      (OntoNotes), also without syntax (LitBank).

    Args:
        source: A path, a pattern such as ``"conll-2012/**/*gold_conll"``, a folder, or documents;
            an open corpus is returned unchanged.
        format: Name of a format in `COREFERENCE_FORMATS`; by default inferred from the first lines
            of each file.
        invalid: Treatment of a document with any fault: ``refuse`` raises, ``skip`` leaves it out
            and counts it.

    Raises:
        UsageError: The format or the choice is unknown, or documents have a format.
        CorpusError: There is no such file, nothing matches, or a folder holds no files; while
            iterating also: no document has a mention.
    """
    if format is not None:
        require_choice("coreference format", format, COREFERENCE_FORMATS)
    require_choice("way with invalid documents", invalid, Invalid)
    if not isinstance(source, str | Location):
        return corpus_in_memory(
            source, "coreference", "documents", element=CoreferenceDocument, format=format
        )
    corpus = corpus_of_files(
        source, "coreference", partial(_documents, format=format, invalid=invalid)
    )
    return name_sample(replace(corpus, read=partial(_require_mentions, corpus)), source)


def _require_mentions(
    corpus: Corpus[CoreferenceDocument], counts: CorpusCounts
) -> Iterator[CoreferenceDocument]:
    """Yield all documents; refuse a corpus that is not annotated."""
    mentions = 0
    for document in corpus.read(counts):
        mentions += len(document.mentions)
        yield document
    if not mentions:
        invalid = f" ({counts.invalid} invalid documents were skipped)" if counts.invalid else ""
        raise CorpusError(
            f"{corpus.source} holds no mention{invalid}; it is not annotated for coreference."
        )


def _documents(
    lines: Lines, counts: CorpusCounts, *, format: str | None, invalid: str
) -> Iterator[CoreferenceDocument]:
    stream = blocks(lines)
    first = next(stream, None)
    # An empty file of a folder is no document, and nothing to refuse.
    if first is None:
        return
    chosen = COREFERENCE_FORMATS[format or _guess(first)]
    for raw in chosen.documents(chain([first], stream)):
        document = unless_invalid(partial(chosen.parse, raw), invalid, counts)
        if document is not None:
            counts.discontinuous += document.discontinuous
            counts.without_words += document.empty
            if document.document.sentences:
                yield document.document


def _guess(block: Block) -> str:
    if block.lines[0].startswith(BEGIN):
        return "conll2012"
    # CoNLL-U may begin with a comment, an empty node or a multi-word token.
    if block.lines[0].startswith("#") or block.lines[0].split("\t")[0] in ("1", "0.1", "1-2"):
        return "conllu"
    names = ", ".join(COREFERENCE_FORMATS)
    raise CorpusError(
        f"{block.place(0)}: the file is in none of the formats of coreference corpora ({names}); "
        "leave it out, or name its format."
    )
