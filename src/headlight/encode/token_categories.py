"""Token categories of a tokenizer's own vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from headlight.encode.pieces import Tokenizer
from headlight.encode.slow_tokenizers import with_words
from headlight.vocabulary import CATEGORIES

CLS, SEP, PUNCTUATION, OTHER = range(len(CATEGORIES))

BOUNDARIES = ("", "Ġ", "▁")
"""Marks of vocabularies before a piece that begins a word; ``##`` marks the opposite."""

ENDINGS = ("", "</w>")


@dataclass(frozen=True, slots=True)
class Categories:
    """Categories of the vocabulary of a tokenizer.

    * ``cls``: what the tokenizer puts before a text: the token for the class or the beginning of
      the sequence (``[CLS]``, ``<s>``), a language code; also a beginning that is written as the
      first token of an example;
    * ``sep``: what it puts after or between texts: the separator or the end of the sequence
      (``[SEP]``, ``</s>``), or the token of the end in any place;
    * ``punctuation``: a period or a comma that stands alone or begins a word, not ``##.``;
    * ``other``: everything else, special tokens that are written in a text included.

    Source: the categories of Clark et al. (2019), Section 3.2, and Kobayashi et al. (2020),
    Section 4.2.
    """

    of_id: dict[int, int]
    starts: frozenset[int]

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer) -> "Categories":
        """Read the categories off the tokenizer's special tokens and vocabulary."""
        vocabulary = cast("Any", with_words(tokenizer)).backend_tokenizer
        spellings = map("".join, product(BOUNDARIES, ".,", ENDINGS))
        punctuation = (vocabulary.token_to_id(piece) for piece in spellings)
        starts = _known(tokenizer.cls_token_id, tokenizer.bos_token_id)
        ends = _known(tokenizer.sep_token_id, tokenizer.eos_token_id)
        of_id = dict.fromkeys(_known(*punctuation), PUNCTUATION)
        of_id |= dict.fromkeys(starts, CLS) | dict.fromkeys(ends, SEP)
        return cls(of_id, starts)

    @property
    def _of_text(self) -> dict[int, int]:
        return {
            token: category for token, category in self.of_id.items() if category == PUNCTUATION
        }

    def of_ids(self, ids: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
        """Return the category of every token of an example.

        Args:
            ids: Ids of the tokens.
            others: Categories of the tokens if the vocabulary says nothing of them; those of a text
                are `OTHER`, and no beginning or end.
        """
        of_text = self._of_text
        categories = [
            of_text.get(token, OTHER) if other == OTHER else self.of_id.get(token, other)
            for token, other in zip(ids, others, strict=True)
        ]
        if ids and ids[0] in self.starts:
            categories[0] = CLS
        return tuple(categories)


def _known(*ids: int | None) -> frozenset[int]:
    return frozenset(token for token in ids if token is not None)


def word_ids(tokenizer: Tokenizer, words: Iterable[str]) -> tuple[int, ...]:
    """Return the tokens of a vocabulary that are written as one of the words.

    Each word counts with and without a capital.  A piece of a longer word may be written so as
    well; only the text tells which pieces are words.

    Args:
        tokenizer: Tokenizer of the vocabulary.
        words: Words in small letters.
    """
    vocabulary = cast("Any", with_words(tokenizer)).backend_tokenizer
    word_set = frozenset(words)
    written = {*word_set, *(word.capitalize() for word in word_set)}
    spellings = map("".join, product(BOUNDARIES, sorted(written), ENDINGS))
    token_ids = (vocabulary.token_to_id(piece) for piece in spellings)
    return tuple(sorted({token for token in token_ids if token is not None}))
