"""Coreference corpora: documents with gold mentions and chains, one at a time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
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
from headlight.corpora.trees.blocks import Block, blocks
from headlight.errors import CorpusError
from headlight.files import Location
from headlight.settings import require_choice
from headlight_papers.corpora.conll2012 import BEGIN, conll2012_documents, parse_conll2012
from headlight_papers.corpora.coreference import Annotated, CoreferenceDocument, RawDocument
from headlight_papers.corpora.entities import entity_documents, parse_entities


@dataclass(frozen=True, slots=True)
class CoreferenceFormat:
    """Format of annotated documents: how a file is cut, and how a document is parsed."""

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
    """A coreference corpus from a file, a pattern, a folder or an archive, as `open_treebank`.

    Chains of one mention are kept where the annotation has them.  Formats:

    * ``conllu``: CoNLL-U with ``Entity=`` in the last column (CorefUD, GUM, OntoGUM);
    * ``conll2012``: ``#begin document`` to ``#end document`` with the brackets in the last column
      (OntoNotes), also without syntax (LitBank).

    Args:
        source: A path, a pattern such as ``"conll-2012/**/*gold_conll"``, a folder, or documents;
            an open corpus stays as it is.
        format: One of `COREFERENCE_FORMATS`.  By default the first lines of each file say it.
        invalid: What becomes of a document in which anything is wrong: ``refuse`` raises, ``skip``
            leaves it out and counts it.

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
    found = corpus_of_files(
        source, "coreference", partial(_documents, format=format, invalid=invalid)
    )
    return replace(found, read=partial(_with_mentions, found))


def _with_mentions(
    corpus: Corpus[CoreferenceDocument], counts: CorpusCounts
) -> Iterator[CoreferenceDocument]:
    """All documents; refuse a corpus that is not annotated."""
    mentions = 0
    for document in corpus.read(counts):
        mentions += len(document.mentions)
        yield document
    if not mentions:
        invalid = f" ({counts.skipped} invalid documents were skipped)" if counts.skipped else ""
        raise CorpusError(
            f"{corpus.source} holds no mention{invalid}; it is not annotated for coreference."
        )


def _documents(
    lines: Lines, counts: CorpusCounts, *, format: str | None, invalid: str
) -> Iterator[CoreferenceDocument]:
    stream = blocks(lines)
    first = next(stream, None)
    if first is None:
        return
    chosen = COREFERENCE_FORMATS[format or _guess(first)]
    for raw in chosen.documents(chain([first], stream)):
        found = unless_invalid(partial(chosen.parse, raw), invalid, counts)
        if found is not None:
            counts.discontinuous += found.discontinuous
            counts.empty += found.empty
            if found.document.sentences:
                yield found.document


def _guess(block: Block) -> str:
    if block.lines[0].startswith(BEGIN):
        return "conll2012"
    if block.lines[0].startswith("#") or block.lines[0].split("\t")[0] in ("1", "0.1", "1-2"):
        return "conllu"
    names = ", ".join(COREFERENCE_FORMATS)
    raise CorpusError(
        f"{block.place(0)}: the file is in none of the formats of coreference corpora ({names}); "
        "leave it out, or name its format."
    )
