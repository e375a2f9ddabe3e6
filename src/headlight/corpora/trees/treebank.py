"""Treebanks: sentences with gold trees, one at a time."""

from collections.abc import Iterable, Iterator
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
from headlight.corpora.lines import Lines
from headlight.corpora.trees import Sentence
from headlight.corpora.trees.blocks import Block, blocks
from headlight.corpora.trees.conllu import new_document
from headlight.corpora.trees.layouts import sentence_of_rows
from headlight.corpora.trees.treebank_formats import TREEBANK_FORMATS, guess
from headlight.files import Location
from headlight.settings import require_choice


def open_treebank(
    source: str | Location | Iterable[Sentence],
    *,
    format: str | None = None,
    invalid: str = "refuse",
) -> Corpus[Sentence]:
    """A treebank from a file, a pattern or a folder.

    Files may be compressed (``.gz .xz .bz2 .zst``) or archives (``.tar``, also compressed, and
    ``.zip``), which are read member by member.  Formats:

    * ``conllu``: CoNLL-U, with exactly one root; multi-word ranges and empty nodes are no words;
    * ``conllx``, ``conll2009``: the ten columns of 2006 and the twelve or more of 2009;
    * ``columns``: word, part of speech, head, and perhaps the relation;
    * ``words``: ``word head-relation``, the format of Clark et al. (2019).

    Args:
        source: A path, a pattern such as ``"ptb/**/*.conllx"``, a folder, or sentences; an open
            treebank stays as it is.
        format: One of `TREEBANK_FORMATS`.  By default the suffix says it (``.conllu .conllx
            .conll09``), or the first sentence of each file.
        invalid: What becomes of a sentence whose columns, numbers or tree are wrong: ``refuse``
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

    return corpus_of_files(source, "treebank", partial(_sentences, format=format, invalid=invalid))


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
        if format == "conllu":
            document = new_document(block, document)
        parse = partial(_sentence, block, format, document)
        sentence = unless_invalid(parse, invalid, counts)
        if sentence is not None:
            yield sentence


def _sentence(block: Block, format: str, document: str) -> Sentence | None:
    """The sentence of a block; None for comments alone."""
    chosen = TREEBANK_FORMATS[format]
    rows = chosen.rows(block)
    return sentence_of_rows(block, rows, chosen.layout, document=document) if rows else None
