"""One example, ready to be batched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example with its special tokens.

    Attributes:
        name: Where its text comes from; examples of one document end in ``#0``, ``#1``, ...
        ids: Vocabulary ids.
        segments: Token type ids, of the same length.
        categories: Indices into `headlight.result.CATEGORIES`, of the same length.
        words: For every token the number of its word within the example, from 0; -1 for special
            tokens.  Words are what blanks separate.
        target: What the decoder of an encoder-decoder model is given, else empty.
        target_categories: As `categories`, for `target`.
        target_words: As `words`, for `target`, counted from 0 again.
    """

    name: str
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    categories: tuple[int, ...]
    words: tuple[int, ...]
    target: tuple[int, ...] = ()
    target_categories: tuple[int, ...] = ()
    target_words: tuple[int, ...] = ()
