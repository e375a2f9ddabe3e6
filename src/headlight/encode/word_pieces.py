"""Pieces of the words of a line, where words may hold blanks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from headlight.encode.pieces import Pieces, Tokenizer, encodings

NO_TOKEN = "gets no token from the tokenizer"
SHARED_TOKEN = "shares a token with the next word"


@dataclass(frozen=True, slots=True)
class Line:
    """Words, joined by single blanks; a word may itself hold blanks.

    Attributes:
        text: Whole line.
        spans: First character of every word, and the one after its last.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def from_words(cls, words: Sequence[str]) -> "Line":
        """Join words; a word that is no valid Unicode is left empty, so that it gets no token."""
        text = " ".join(words)
        if not _is_valid(text):
            words = [word if _is_valid(word) else "" for word in words]
            text = " ".join(words)
        ends = list(accumulate((len(word) + 1 for word in words), initial=0))
        spans = ((start, start + len(word)) for start, word in zip(ends, words, strict=False))
        return cls(text, tuple(spans))


@dataclass(frozen=True, slots=True)
class WordPieces:
    """Pieces of a line.

    Attributes:
        pieces: Pieces, each with the number of its word.
        ends: Number of pieces up to the last piece of every word.
        fault: First word that cannot be told apart by its pieces, and what is wrong with it.
    """

    pieces: Pieces
    ends: tuple[int, ...]
    fault: tuple[int, str] | None

    @property
    def word_count(self) -> int:
        """Return the number of words of the line."""
        return len(self.ends)

    def begin(self, word: int) -> int:
        """Return the number of pieces before a word."""
        return self.ends[word - 1] if word else 0

    def fault_within(self, stop: int) -> tuple[int, str] | None:
        """Return the fault, if it concerns one of the first `stop` words."""
        return self.fault if self.fault is not None and self.fault[0] < stop else None

    def of_words(self, first: int, stop: int) -> Pieces:
        """Return the pieces of the words from `first` to before `stop`, counted from 0."""
        return self.pieces.window(self.begin(first), self.begin(stop))


def pieces_of_lines(tokenizer: Tokenizer, lines: Sequence[Line]) -> list[WordPieces]:
    """Return the pieces of every line."""
    texts = [line.text for line in lines]
    return [
        _assign(line.spans, encoding.ids, encoding.offsets.tolist())
        for line, encoding in zip(lines, encodings(tokenizer, texts), strict=True)
    ]


def _assign(
    spans: Sequence[tuple[int, int]], ids: Sequence[int], offsets: Sequence[Sequence[int]]
) -> WordPieces:
    """Assign each piece to the word of its first character that is not a blank between words.

    Several pieces may share one character.  A piece that stands for nothing but the blank belongs
    to the word after it, or to the last, without counting as a piece that shows the word.
    """
    last = len(spans) - 1
    word_numbers, present_words, shared = [], set(), set()
    word = 0
    for start, stop in offsets:
        while word < last and spans[word][1] <= start:
            word += 1
        word_numbers.append(word)
        if last >= 0 and start < spans[word][1] and stop > spans[word][0]:
            present_words.add(word)
        if word < last and stop > spans[word + 1][0]:
            shared.add(word)
    counts = Counter(word_numbers)
    ends = tuple(accumulate(counts[word] for word in range(len(spans))))
    pieces = Pieces(ids, word_numbers, len(spans))
    return WordPieces(pieces, ends, _first_fault(len(spans), present_words, shared))


def _first_fault(count: int, present_words: set[int], shared: set[int]) -> tuple[int, str] | None:
    for word in range(count):
        if word in shared:
            return word, SHARED_TOKEN
        if word not in present_words:
            return word, NO_TOKEN
    return None


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
