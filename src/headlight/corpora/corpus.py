"""Corpora: a source, an order, and elements that are read one by one."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal

from typing_extensions import TypeVar

from headlight.corpora.archives import is_packed, text_files
from headlight.corpora.files import files
from headlight.corpora.hub import data_set_name, saved_data_set
from headlight.corpora.lines import READ_AHEAD, Lines
from headlight.corpora.samples import NAMES
from headlight.errors import CorpusError, UsageError
from headlight.files import Location, storable
from headlight.settings import Range, require_range

CorpusKind = Literal[
    "text", "treebank", "coreference", "pairs", "tagged", "parallel", "links", "speech", "pictures"
]
"""Kind of the elements: documents, sentences, annotated documents, pairs, tagged sentences,
translations, links, recordings, pictures."""

ELEMENTS: dict[CorpusKind, tuple[str, str]] = {
    "text": ("text", "texts"),
    "treebank": ("sentence", "sentences"),
    "coreference": ("document", "documents"),
    "pairs": ("sentence", "pairs"),
    "tagged": ("sentence", "tagged sentences"),
    "parallel": ("pair", "translation pairs"),
    "links": ("sentence", "word links"),
    "speech": ("recording", "recordings"),
    "pictures": ("picture", "pictures"),
}
"""Names of one element and of several in messages."""

Invalid = Literal["refuse", "skip"]
"""Treatment of invalid elements: they are an error, or left out and counted."""

FINEST = 20
"""Packed files of fewer than this many `READ_AHEAD` do not tell how far one has come."""

Element = TypeVar("Element", covariant=True, default=Any)
Parsed = TypeVar("Parsed")


@dataclass(slots=True)
class CorpusCounts:
    """Counts of what an iteration could not keep so far; results have them by these names.

    Attributes:
        invalid: Invalid elements, which were left out.
        blank: Rows, articles, messages or strings without a text, which were left out.
        discontinuous: Mentions of several parts, of which the part with the head word was kept.
        without_words: Mentions of empty nodes alone, which were left out.
        other_files: Files of the source that are of no kind that is read here.
        joined_lines: Lines of plain text that stand with others in a document.
    """

    invalid: int = 0
    blank: int = 0
    discontinuous: int = 0
    without_words: int = 0
    other_files: int = 0
    joined_lines: int = 0


FileReader = Callable[[Lines, CorpusCounts], Iterator[Element]]
"""Function from the lines of one file to its elements; what is left out is counted."""


def unless_invalid(
    parse: Callable[[], Parsed], invalid: str, counts: CorpusCounts
) -> Parsed | None:
    """Parse an element; count it and return None if it is invalid and such elements are skipped.

    Raises:
        CorpusError: The element is invalid, and such elements are refused.
    """
    try:
        return parse()
    except CorpusError:
        if invalid == "refuse":
            raise
        counts.invalid += 1
        return None


def with_text(elements: Iterable[Element | None], counts: CorpusCounts) -> Iterator[Element]:
    """Yield the elements that hold something; the others, None, are counted."""
    for element in elements:
        if element is None:
            counts.blank += 1
        else:
            yield element


@dataclass(eq=False)
class Corpus(Generic[Element]):
    """Elements in a fixed order, read while one iterates.

    It can be iterated again, unless it is standard input or was made of an iterator.

    Attributes:
        source: Source that it was opened from, as reports show it.
        read: Function that reads the elements, and counts what it leaves out.
        kind: Kind of the elements.
        limit: Largest number of elements that are read; None for all.
        once: Whether it can be iterated only once.
        share_of: Function from a number of first elements to their approximate share of the corpus;
            None where that is not known.
        counts: Counts of what the latest iteration could not keep so far.
    """

    source: str
    read: Callable[[CorpusCounts], Iterator[Element]] = field(repr=False)
    kind: CorpusKind = "text"
    limit: int | None = None
    once: bool = False
    share_of: Callable[[int], float | None] = field(default=lambda _: None, repr=False)
    counts: CorpusCounts = field(default_factory=CorpusCounts, init=False, repr=False)

    def __iter__(self) -> Iterator[Element]:
        """Iterate over the elements.

        Raises:
            CorpusError: Something cannot be read, or there is no element at all.
        """
        self.counts = CorpusCounts()
        return self._read_some(self.counts)

    @property
    def skipped(self) -> int:
        """Return the number of elements that the latest iteration has left out so far."""
        return self.counts.invalid

    def take(self, number: int | None) -> "Corpus[Element]":
        """Return a corpus of the first elements, or of all: no more is read than they need.

        Raises:
            UsageError: The number is less than 1.
        """
        if number is None:
            return self
        require_range("the number of elements", number, Range(minimum=1))
        return replace(self, limit=number if self.limit is None else min(number, self.limit))

    def _read_some(self, counts: CorpusCounts) -> Iterator[Element]:
        empty = True
        for element in islice(self.read(counts), self.limit):
            empty = False
            yield element
        if empty:
            singular, plural = ELEMENTS[self.kind]
            if counts.invalid:
                raise CorpusError(f"all {counts.invalid} {plural} of {self.source} are invalid.")
            raise CorpusError(f"{self.source} holds no {singular}; nothing can be said about it.")


def corpus_of_files(
    source: str | Location, kind: CorpusKind, format: FileReader[Element], part: str | None = None
) -> Corpus[Element]:
    """Return a corpus of the files that a source stands for, those in archives included.

    Args:
        source: Path, pattern or folder.
        kind: Kind of the elements.
        format: Function that reads a file.
        part: Text that the names of the files must hold, if not all are meant.

    Raises:
        CorpusError: There is no such file, nothing matches, or a folder holds no files, or those of
            a data set of another library.
    """
    if marker := saved_data_set(source):
        raise CorpusError(
            f"{storable(source)} was written by save_to_disk of the library datasets, as its "
            f"{marker.name} says; write {data_set_name(marker.parent)}, which texts and pairs are "
            "read from."
        )
    paths = [path for path in files(source) if part is None or part in path.name]
    if not paths:
        raise CorpusError(f"no file of {storable(source)} has {part!r} in its name.")

    def read(counts: CorpusCounts) -> Iterator[Element]:
        for path in paths:
            for lines in text_files(path):
                yield from format(lines, counts)

    def share_of(elements: int) -> float | None:
        return _share_of_files(paths, format, elements)

    return Corpus(NAMES.get(str(source)) or storable(source), read, kind, share_of=share_of)


def _share_of_files(
    paths: Sequence[Location], format: FileReader[Element], elements: int
) -> float | None:
    """Return the share of bytes of files up to the first elements, which are read again.

    None for files elsewhere, which would have to be fetched again, and for small packed files.
    """
    sizes = [path.stat().st_size for path in paths if isinstance(path, Path)]
    if len(sizes) < len(paths) or not sum(sizes):
        return None
    if any(map(is_packed, paths)) and sum(sizes) < FINEST * READ_AHEAD:
        return None
    counts, before, remaining = CorpusCounts(), 0, elements
    for path, size in zip(paths, sizes, strict=True):
        # Closed, as a generator that is left behind would hold its file open.
        with closing(text_files(path)) as members:
            for lines in members:
                for _ in format(lines, counts):
                    remaining -= 1
                    if remaining == 0:
                        return (before + lines.bytes_read) / sum(sizes)
        before += size
    return 1.0


def corpus_in_memory(
    elements: Iterable[Any],
    kind: CorpusKind,
    source: str,
    *,
    element: type = object,
    format: str | None = None,
    read: Callable[[Iterable[Any]], Iterator[Element | None]] = iter,
) -> Corpus[Element]:
    """Return a corpus of objects in memory; a corpus stays as it is.

    Args:
        elements: Objects in memory; the corpus of an iterator can be read only once.
        kind: Kind of the elements.
        source: Name of the elements in reports.
        element: Class that each object must have.
        format: Requested format, which must be None.
        read: Function that makes elements of the objects, or None of an object that holds nothing.

    Raises:
        UsageError: A format is given, or it is a corpus of something else, or no corpus at all.
    """
    wanted = ELEMENTS[kind][1]
    if not isinstance(elements, Iterable):
        raise UsageError(f"{elements!r} is no corpus of {wanted}; give a path, or {wanted}.")
    if format is not None:
        raise UsageError(f"only files have a format; leave out the format {format!r}.")
    if not isinstance(elements, Corpus):
        corpus_class = corpus_read_once if isinstance(elements, Iterator) else Corpus
        corpus = corpus_class(
            source,
            lambda counts: with_text(read(_check_class(elements, element, wanted)), counts),
            kind,
        )
        if isinstance(elements, Sized):
            number = len(elements)
            corpus.share_of = lambda first: first / max(number, first)
        return corpus
    if elements.kind != kind:
        has = ELEMENTS[elements.kind][1]
        raise UsageError(f"{elements.source} is a corpus of {has}, where {wanted} are needed.")
    return elements


def _check_class(elements: Iterable[Any], element: type, wanted: str) -> Iterator[Any]:
    """Yield the elements, each of which must be of the class."""
    for item in elements:
        if not isinstance(item, element):
            raise UsageError(
                f"{wanted} are needed, of class {element.__name__}, and {item!r:.60} is none; "
                "give the path of a file, or what was read from one."
            )
        yield item


def corpus_read_once(
    source: str, read: Callable[[CorpusCounts], Iterator[Element]], kind: CorpusKind = "text"
) -> Corpus[Element]:
    """Return a corpus that refuses to be iterated a second time."""
    used = False

    def guarded(counts: CorpusCounts) -> Iterator[Element]:
        nonlocal used
        if used:
            raise CorpusError(
                "this corpus can be read only once, and has been; save it to a file first."
            )
        used = True
        return read(counts)

    return Corpus(source, guarded, kind, once=True)
