"""Slow tokenizers that mark where words begin, as SentencePiece does: OPUS-MT's, M2M-100's.

They do not say which characters a piece came from.  But every piece that begins a word begins with
a mark for the blank before it; so the pieces of a text, which stand in order, are dealt out to its
words by counting marks.  Where the counts differ, because the tokenizer makes blanks of its own or
drops words, each word is tokenised by itself.
"""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "▁"
TRIAL = "a b"


@dataclass(frozen=True, slots=True)
class MarkedEncoding:
    """Encoding of a text as a fast tokenizer would return it.

    Attributes:
        ids: Vocabulary ids.
        offsets: Characters of the whole word of each piece.
        sequence_ids: 0 for pieces of the text, None for tokens that the tokenizer adds.
        type_ids: Token type ids, 0 everywhere.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]
    type_ids: list[int]


class MarkedTokenizer:
    """Part of a fast tokenizer that is used here, over a slow one.

    Args:
        slow: Tokenizer of transformers that begins words with `MARK`.
    """

    is_fast = True

    def __init__(self, slow: Any) -> None:
        self._slow = slow
        self.backend_tokenizer = SimpleNamespace(
            token_to_id=lambda piece: slow.get_vocab().get(piece),
            get_vocab_size=lambda: len(slow),
            decode=slow.decode,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slow, name)

    def __call__(
        self,
        text: Sequence[str] | None = None,
        text_target: Sequence[str] | None = None,
        add_special_tokens: bool = True,
        **_: Any,
    ) -> Any:
        """Return the encodings of texts, or of texts for a decoder; pairs are not encoded."""
        target = text is None
        texts = (text_target if target else text) or ()
        with self._reading(target):
            encodings = [self._encoding(part, add_special_tokens) for part in texts]
        return SimpleNamespace(encodings=encodings)

    @contextmanager
    def _reading(self, target: bool) -> "Iterator[None]":
        """Let the tokenizer, within the block, read text of the target language."""
        if not target:
            yield
            return
        self._slow._switch_to_target_mode()
        try:
            yield
        finally:
            self._slow._switch_to_input_mode()

    def _encoding(self, text: str, add_special_tokens: bool) -> MarkedEncoding:
        pieces, spans = self._deal_out(text)
        inner = self._slow.convert_tokens_to_ids(pieces)
        whole = list(inner)
        if add_special_tokens:
            whole = list(self._slow.build_inputs_with_special_tokens(inner))
        before = _place(inner, whole)
        after = len(whole) - before - len(inner)
        return MarkedEncoding(
            whole,
            [(0, 0)] * before + spans + [(0, 0)] * after,
            [None] * before + [0] * len(inner) + [None] * after,
            [0] * len(whole),
        )

    def _deal_out(self, text: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the pieces of a text, and the characters of the word of each piece."""
        spans = _spans(text)
        pieces = self._slow.tokenize(text)
        if sum(piece.startswith(MARK) for piece in pieces) == len(spans):
            numbers = _count_words(pieces)
            if numbers and numbers[0] == 0:
                return pieces, [spans[number] for number in numbers]
        by_word = [self._slow.tokenize(text[start:stop]) for start, stop in spans]
        return (
            [piece for word_pieces in by_word for piece in word_pieces],
            [span for span, word_pieces in zip(spans, by_word, strict=True) for _ in word_pieces],
        )


_made: "WeakKeyDictionary[Any, MarkedTokenizer]" = WeakKeyDictionary()


def with_words(tokenizer: Any) -> Any:
    """Return the tokenizer itself if it is fast or knows no marks, else a `MarkedTokenizer`."""
    if tokenizer.is_fast:
        return tokenizer
    if tokenizer not in _made:
        trial = tokenizer.tokenize(TRIAL) if hasattr(tokenizer, "tokenize") else []
        if not any(str(piece).startswith(MARK) for piece in trial):
            return tokenizer
        _made[tokenizer] = MarkedTokenizer(tokenizer)
    return _made[tokenizer]


def _spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every word, as blanks separate them."""
    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    return spans


def _count_words(pieces: Sequence[str]) -> list[int]:
    """Return the number of the word of each piece; −1 before the first mark."""
    numbers, number = [], -1
    for piece in pieces:
        number += piece.startswith(MARK)
        numbers.append(number)
    return numbers


def _place(inner: Sequence[int], whole: Sequence[int]) -> int:
    """Return the index of the first piece of the text among all ids, special tokens included."""
    size = len(inner)
    return next(
        (at for at in range(len(whole) - size + 1) if list(whole[at : at + size]) == list(inner)), 0
    )
