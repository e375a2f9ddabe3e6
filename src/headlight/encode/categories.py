"""Token categories for any tokenizer's own vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from headlight.encode.pieces import Tokenizer
from headlight.encode.word_boundaries import with_words
from headlight.vocabulary import CATEGORIES

CLS, SEP, PUNCTUATION, OTHER = range(len(CATEGORIES))

BOUNDARIES = ("", "Ġ", "▁")
"""What vocabularies write before a piece that begins a word; ``##`` marks the opposite."""

ENDINGS = ("", "</w>")


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories of one tokenizer's vocabulary.

    * ``cls``: the token for the class or the beginning of the sequence (``[CLS]``, ``<s>``);
    * ``sep``: the separator or the end of the sequence (``[SEP]``, ``</s>``); where one token is
      both beginning and end (``<|endoftext|>``), the first of an example is ``cls``;
    * in either place, any other token that the tokenizer puts there by itself: a language code;
    * ``punctuation``: a period or a comma that stands alone or begins a word, not ``##.``;
    * ``other``: everything else, special tokens within a text included.

    Source: the categories of Clark et al. (2019), Section 3.2, and Kobayashi et al. (2020),
    Section 4.2.
    """

    of_id: dict[int, int]
    starts: frozenset[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Categories":
        """Read off the tokenizer's special tokens and vocabulary."""
        vocabulary = cast("Any", with_words(tokenizer)).backend_tokenizer
        spellings = map("".join, product(BOUNDARIES, ".,", ENDINGS))
        punctuation = (vocabulary.token_to_id(piece) for piece in spellings)
        starts = _known(tokenizer.cls_token_id, tokenizer.bos_token_id)
        ends = _known(tokenizer.sep_token_id, tokenizer.eos_token_id)
        of_id = dict.fromkeys(_known(*punctuation), PUNCTUATION)
        of_id |= dict.fromkeys(starts, CLS) | dict.fromkeys(ends, SEP)
        return cls(of_id, starts)

    def of_ids(self, ids: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
        """The category of every token of one example.

        Args:
            ids: Of the tokens.
            others: Their categories if the vocabulary says nothing of them.
        """
        categories = [self.of_id.get(*each) for each in zip(ids, others, strict=True)]
        if ids and ids[0] in self.starts:
            categories[0] = CLS
        return tuple(categories)


def _known(*ids: int | None) -> frozenset[int]:
    return frozenset(token for token in ids if token is not None)
