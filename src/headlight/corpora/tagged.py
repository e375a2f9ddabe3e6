"""Tagged sentences: columns of words and tags, one word in a line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headlight.corpora.corpus import Corpus, CorpusCounts, corpus_in_memory, corpus_of_files
from headlight.corpora.line_blocks import Block, blocks
from headlight.corpora.lines import Lines
from headlight.corpora.sentence import Sentence
from headlight.corpora.text_checks import demand_characters
from headlight.errors import CorpusError, UsageError
from headlight.files import Location
from headlight.settings import require_choice

DOCUMENT_START = "-DOCSTART-"
"""Mark, in the place of a word, of a line that begins a document (CoNLL-2003)."""

TAGGED_FORMATS = ("columns",)
"""Formats that a file of tagged sentences may have."""

LAST = -1


@dataclass(frozen=True, slots=True)
class TaggedSentence(Sentence):
    """Sentence without a tree, of which every word has a tag.

    Attributes:
        tags: Tags of the words, as the source writes them: ``B-NP``, ``NN``.
    """

    tags: tuple[str, ...] = ()


def open_tagged(
    source: str | Location | Iterable[Any],
    *,
    format: str | None = None,
    columns: Iterable[str | int] | None = None,
) -> Corpus[TaggedSentence]:
    """Open tagged sentences of a file, a pattern or a folder, as CoNLL-2000 and its like have them.

    A word stands in a line with its tag, in columns that blanks or tabs separate; a blank line ends
    the sentence.  Lines that begin a document (``-DOCSTART-``) are no sentences.  Files may be
    compressed or archives, as for `open_treebank`.

    Args:
        source: Path, pattern, folder, or sentences: `TaggedSentence`, or tuples of words and
            tags; an open corpus stays as it is.
        format: Format, the only one of `TAGGED_FORMATS`.
        columns: Numbers, from 1, of the columns of the word and of the tag; by default the
            first and the last.

    Raises:
        UsageError: The format is unknown, or the columns are no two numbers from 1.
        CorpusError: There is no such file, nothing matches, or a folder holds no files.
    """
    if format is not None:
        require_choice("format of tagged sentences", format, TAGGED_FORMATS)
    word, tag = _places(columns)
    if not isinstance(source, str | Location):
        if columns is not None:
            raise UsageError("only files have columns; leave them out.")
        return corpus_in_memory(source, "tagged", "sentences", format=format, read=_read_objects)

    def read(lines: Lines, _: CorpusCounts) -> Iterator[TaggedSentence]:
        document = ""
        for block in blocks(lines):
            rows = [_word_and_tag(block, at, word, tag) for at in range(len(block.lines))]
            start = int(rows[0][0] == DOCUMENT_START)
            if start:  # a sentence may follow without a blank line between
                document = block.place(0)
            if rows[start:]:
                words, tags = zip(*rows[start:], strict=True)
                yield TaggedSentence(block.place(start), words, tags=tags, document=document)

    return corpus_of_files(source, "tagged", read)


def _places(columns: Iterable[str | int] | None) -> tuple[int, int]:
    """Return the columns of the word and of the tag, counted from 0."""
    if columns is None:
        return 0, LAST
    requested = list(columns)
    numbers = [int(column) for column in requested if str(column).isdecimal() and int(column) > 0]
    if len(numbers) != 2 or len(requested) != 2:
        raise UsageError(
            f"the columns of word and tag are two numbers from 1, not {requested!r}; write 1,3."
        )
    return numbers[0] - 1, numbers[1] - 1


def _word_and_tag(block: Block, at: int, word: int, tag: int) -> tuple[str, str]:
    fields = block.lines[at].split()
    needed = max(word, tag, 1) + 1
    if len(fields) < needed:
        raise CorpusError(
            f"{block.place(at)}: the line has {len(fields)} columns, and a word and its tag need "
            f"{needed}; complete the line, or name the columns."
        )
    return fields[word], fields[tag]


def _read_objects(sentences: Iterable[Any]) -> Iterator[TaggedSentence]:
    for index, sentence in enumerate(sentences):
        if isinstance(sentence, TaggedSentence):
            yield sentence
            continue
        words, tags = _pair_of_lists(sentence, index)
        for word in words:
            demand_characters(word, f"sentence {index}")
        yield TaggedSentence(f"sentence {index}", words, tags=tags)


def _pair_of_lists(sentence: Any, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = tuple(islice(sentence, 3)) if isinstance(sentence, tuple | list) else ()
    lists = all(isinstance(part, tuple | list) for part in parts)
    if len(parts) != 2 or not lists or len(parts[0]) != len(parts[1]):
        raise UsageError(
            f"sentence {index} must be its words and as many tags, and {sentence!r:.60} is not; "
            "give tuples such as (words, tags), or the path of a file."
        )
    words, tags = (tuple(map(str, part)) for part in parts)
    return words, tags
