"""Word vectors from text files, as GloVe and word2vec write them."""

import re
from array import array
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from headlight.corpora.archives import text_files
from headlight.corpora.files import files
from headlight.corpora.lines import Lines
from headlight.corpora.tables import number
from headlight.errors import CorpusError
from headlight.files import Location, storable

UNKNOWN = -1
"""The row of words that have no vector."""

LARGEST = float(np.finfo(np.float32).max)
BLANKS = re.compile(r"[ \t]+")
FIGURES = frozenset("0123456789.+-eE")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors for a set of words.

    Attributes:
        words: Words, as they are written in the file, and their rows.
        matrix: Vectors of the words, one per row.
    """

    words: dict[str, int]
    matrix: Float32[np.ndarray, "word dimension"]

    @property
    def dimensions(self) -> int:
        """Return the length of each vector."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def lookup(self, words: Sequence[str]) -> Int64[np.ndarray, "word"]:
        """Return the rows of words in small letters, as in Clark et al. (2019); else `UNKNOWN`."""
        rows = (self.words.get(word.lower(), UNKNOWN) for word in words)
        return np.fromiter(rows, dtype=np.int64, count=len(words))

    def rows(self, words: Sequence[str]) -> Float32[np.ndarray, "word dimension"]:
        """Return the vectors of words in small letters; zeros for those that have none."""
        places = self.lookup(words)
        return np.where(places[:, None] == UNKNOWN, np.float32(0), self.matrix[places])


@dataclass(frozen=True, slots=True)
class _Header:
    """The first line of a word2vec file."""

    place: str
    words: int
    dimensions: int


def read_word_vectors(
    source: str | Location, *, vocabulary: Container[str] | None = None
) -> WordVectors:
    """Read word vectors from a text file: a word and its numbers per line, separated by blanks.

    The file may be compressed, or the only one in an archive.  A first line of two whole numbers is
    taken as the header of word2vec: how many words, how many dimensions.  A word may hold blanks.
    Of words that come twice the first is kept.

    Args:
        source: File of vectors.
        vocabulary: Only words to keep, as the file writes them; by default all.  The others take
            no memory, and of them only the number of dimensions is checked.

    Raises:
        CorpusError: There is no such file, a line has another number of dimensions or something
            that is no finite number, or no word is left.
    """
    paths = files(source)
    if len(paths) != 1:
        raise CorpusError(f"{storable(source)} stands for {len(paths)} files; name one of them.")
    words: dict[str, int] = {}
    # An array of floats takes 4 bytes a number, where a list of Python floats takes 32.
    values = array("f")
    dimensions = 0
    for lines in text_files(paths[0]):
        # Files of several members would be several tables, and their order would decide.
        if dimensions:
            raise CorpusError(f"{lines.name} is not the only file in its archive; unpack one.")
        for word, numbers, place in _entries(lines):
            dimensions = len(numbers)
            if word in words or (vocabulary is not None and word not in vocabulary):
                continue
            values.extend(_values(numbers, place))
            words[word] = len(words)
    if not words:
        wanted = "" if vocabulary is None else " of the vocabulary"
        raise CorpusError(f"{storable(source)} holds no word{wanted}; check the file.")
    matrix = np.frombuffer(values, dtype=np.float32).reshape(len(words), dimensions)
    return WordVectors(words, matrix)


def _entries(lines: Lines) -> Iterator[tuple[str, list[str], str]]:
    """Yield word, numbers and place of every line; all have as many numbers as the first."""
    header: _Header | None = None
    dimensions: int | None = None
    count = 0
    for line in lines:
        fields = BLANKS.split(line.strip(" \t\r\n"))
        if fields == [""]:
            continue
        if dimensions is None:
            header = _header(fields, lines.place)
            dimensions = header.dimensions if header else len(fields) - 1
            if header:
                continue
        count += 1
        yield (*_entry(fields, dimensions, lines.place), lines.place)
    # A file that was cut off in transfer ends in the middle, without an error.
    if header and count != header.words:
        raise CorpusError(
            f"{header.place}: {header.words:,} words are announced, but {count:,} follow; "
            "the file is cut short, or its header is wrong."
        )


def _header(fields: Sequence[str], place: str) -> _Header | None:
    counts = [number(field) for field in fields]
    if len(counts) != 2 or not counts[0] or not counts[1]:
        return None
    return _Header(place, counts[0], counts[1])


def _entry(fields: list[str], dimensions: int, place: str) -> tuple[str, list[str]]:
    """Return the word, which may hold blanks itself, and its numbers."""
    first = max(len(fields) - dimensions, 0)
    word, numbers = fields[:first], fields[first:]
    # Blanks within a word are real, but a part that is a number shows that the line has too many.
    surplus = sum(NUMBER.fullmatch(part) is not None for part in word[1:])
    if dimensions < 1 or not word or surplus:
        wanted = dimensions if dimensions > 0 else "at least 1"
        raise CorpusError(
            f"{place}: the word has {max(len(fields) - 1, 0)} numbers instead of {wanted}; "
            "all vectors of a file must have the dimensions of the first."
        )
    return " ".join(word), numbers


def _values(numbers: Sequence[str], place: str) -> "array[float]":
    try:
        values = array("f", map(float, numbers))
    except ValueError:
        values = array("f", [np.nan])
    # float() lets in "nan", "1_000" and the digits of other scripts, and array() infinity.
    if not FIGURES.issuperset("".join(numbers)) or not np.isfinite(values).all():
        wrong = next(t for t in numbers if not NUMBER.fullmatch(t) or abs(float(t)) > LARGEST)
        raise CorpusError(
            f"{place}: {wrong[:40]!r} is no number, or too large for 32 bits; correct the line."
        )
    return values
