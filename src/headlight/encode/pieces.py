"""Texts to pieces: vocabulary ids without special tokens, and the word that each belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from headlight.errors import UsageError

WORD = re.compile(r"\S+")


@runtime_checkable
class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    is_fast: bool
    cls_token_id: int | None
    sep_token_id: int | None
    bos_token_id: int | None
    eos_token_id: int | None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Tokenise texts."""


@runtime_checkable
class Encoding(Protocol):
    """What the tokenizers library says of one text.

    Attributes:
        ids: Vocabulary ids.
        offsets: The first character of every piece, and the one after its last.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text without special tokens.

    Attributes:
        ids: Vocabulary ids.
        words: For every piece the number of its word, from 0.
        word_count: Words in the text.
    """

    ids: tuple[int, ...]
    words: tuple[int, ...]
    word_count: int

    def __len__(self) -> int:
        return len(self.ids)

    def window(self, start: int, stop: int) -> "Pieces":
        """The pieces from `start` to before `stop`; words are counted from the first one kept."""
        first = self.words[start] if start else 0
        last = self.word_count if stop >= len(self) else self.words[stop - 1] + 1
        words = tuple(word - first for word in self.words[start:stop])
        return Pieces(self.ids[start:stop], words, last - first)


def require_fast(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that does not say which characters a piece came from.

    Raises:
        UsageError: The tokenizer is a slow one.
    """
    if not tokenizer.is_fast:
        raise UsageError(
            f"the tokenizer {type(tokenizer).__name__} is a slow one, which does not tell "
            "where its pieces are in the text; use a fast one (a model with a tokenizer.json)."
        )


def tokenised(tokenizer: Tokenizer, texts: Sequence[str], *, target: bool = False) -> list[Pieces]:
    """The pieces of every text, in one call of the tokenizer.

    Args:
        tokenizer: A fast one.
        texts: As they are; what looks like a special token (``[MASK]``) becomes one if the
            tokenizer is set so, which is its default.
        target: Tokenise as text for a decoder (``text_target=``).
    """
    return [
        Pieces(tuple(encoding.ids), _words(text, encoding.offsets), len(text.split()))
        for text, encoding in zip(texts, encodings(tokenizer, texts, target=target), strict=True)
    ]


def encodings(
    tokenizer: Tokenizer, texts: Sequence[str], *, target: bool = False
) -> Sequence[Encoding]:
    """The texts without special tokens, in one call of the tokenizer; as `tokenised`."""
    if not texts:
        return []
    place = "text_target" if target else "text"
    batch = tokenizer(
        **{place: list(texts)},
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    found: Sequence[Encoding] = batch.encodings
    return found


def _words(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The word of the first character of each piece that is no blank.

    Words are what blanks separate, so that corpora that come tokenised keep their tokens.  A piece
    may begin with the blank before its word, and several pieces may share one character; a piece
    of blanks alone belongs to the word after it, or to the last.
    """
    ends = [match.end() for match in WORD.finditer(text)]
    starts = np.asarray([start for start, _ in offsets], dtype=np.int64)
    words = np.searchsorted(np.asarray(ends, dtype=np.int64), starts, side="right")
    last: list[int] = np.minimum(words, max(len(ends) - 1, 0)).tolist()
    return tuple(last)
