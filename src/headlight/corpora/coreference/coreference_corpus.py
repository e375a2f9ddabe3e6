"""The door to coreference corpora: documents with gold mentions and chains."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from headlight.corpora.archives import text_files
from headlight.corpora.coreference.conll2012 import BEGIN, conll2012_documents, parse_conll2012
from headlight.corpora.coreference.documents import Annotated, CoreferenceDocument, RawDocument
from headlight.corpora.coreference.entities import entity_documents, parse_entities
from headlight.corpora.files import files, printable
from headlight.corpora.lines import Lines
from headlight.corpora.trees.blocks import Block, blocks
from headlight.corpora.trees.treebank import BROKEN_CHOICES
from headlight.errors import CorpusError, UnknownNameError


@dataclass(frozen=True, slots=True)
class CoreferenceFormat:
    """How a file is cut into documents, and how a document is parsed."""

    documents: Callable[[Iterator[Block]], Iterator[RawDocument]]
    parse: Callable[[RawDocument], Annotated]


COREFERENCE_FORMATS = {
    "conllu": CoreferenceFormat(entity_documents, parse_entities),
    "conll2012": CoreferenceFormat(conll2012_documents, parse_conll2012),
}
"""The formats a coreference corpus may have."""


class CoreferenceCorpus:
    """Documents in a fixed order, read while one iterates; it can be iterated again.

    Chains of one mention are kept where the annotation has them.

    Attributes:
        source: What it was opened from, as reports show it.
        skipped: How many broken documents the latest iteration has left out so far.
        torn: How many mentions of several parts it has met; the part with the head word is kept.
        wordless: How many mentions of empty nodes alone it has left out.
    """

    def __init__(self, source: str, paths: list[Path], format: str | None, broken: str) -> None:
        self.source = source
        self.skipped = 0
        self.torn = 0
        self.wordless = 0
        self._paths = paths
        self._format = format
        self._skip = broken == "skip"

    def __repr__(self) -> str:
        return f"CoreferenceCorpus({self.source!r})"

    def __iter__(self) -> Iterator[CoreferenceDocument]:
        """The documents.

        Raises:
            CorpusError: A file cannot be read, a document is broken, or there are no mentions.
        """
        self.skipped = self.torn = self.wordless = 0
        mentions = 0
        for path in self._paths:
            for lines in text_files(path):
                for document in self._documents(lines):
                    mentions += len(document.mentions)
                    yield document
        if not mentions:
            broken = f" ({self.skipped} broken documents were skipped)" if self.skipped else ""
            raise CorpusError(
                f"{self.source} holds no mention{broken}; it is not annotated for coreference."
            )

    def _documents(self, lines: Lines) -> Iterator[CoreferenceDocument]:
        stream = blocks(lines)
        first = next(stream, None)
        if first is None:
            return
        format = COREFERENCE_FORMATS[self._format or _guess(first)]
        for raw in format.documents(chain([first], stream)):
            document = self._document(raw, format)
            if document is not None and document.sentences:
                yield document

    def _document(self, raw: RawDocument, format: CoreferenceFormat) -> CoreferenceDocument | None:
        try:
            found = format.parse(raw)
        except CorpusError:
            if not self._skip:
                raise
            self.skipped += 1
            return None
        self.torn += found.torn
        self.wordless += found.wordless
        return found.document


def open_coreference(
    source: str | Path, *, format: str | None = None, broken: str = "refuse"
) -> CoreferenceCorpus:
    """A coreference corpus from a file, a pattern, a folder or an archive, as `open_treebank`.

    * ``conllu``: CoNLL-U with ``Entity=`` in the last column (CorefUD, GUM, OntoGUM);
    * ``conll2012``: ``#begin document`` to ``#end document`` with the brackets in the last column
      (OntoNotes), also without syntax (LitBank).

    Args:
        source: A path, a pattern such as ``"conll-2012/**/*gold_conll"``, or a folder.
        format: One of `COREFERENCE_FORMATS`.  By default the first lines of each file say it.
        broken: What becomes of a document in which anything is wrong: ``refuse`` raises, ``skip``
            leaves it out and counts it.

    Raises:
        UsageError: The format or the choice is unknown.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None and format not in COREFERENCE_FORMATS:
        raise UnknownNameError("coreference format", format, COREFERENCE_FORMATS)
    if broken not in BROKEN_CHOICES:
        raise UnknownNameError("way with broken documents", broken, BROKEN_CHOICES)
    return CoreferenceCorpus(printable(source), files(str(source)), format, broken)


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
