"""Token ids as examples: those of a model that goes on with a text, and those of a server."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from headlight.encode.examples import Encoded
from headlight.encode.pieces import SPECIAL_WORD
from headlight.encode.special_tokens import Assembly
from headlight.encode.token_categories import CLS, OTHER, SEP, Categories
from headlight.errors import UsageError
from headlight.vocabulary import ANSWER, PROMPT

CONTEXT = 32
"""Tokens that are decoded before one, to see whether a blank is between."""

Longer = TypeVar("Longer", bound=Encoded)


def with_next_token(example: Longer, number: int, tokenizer: Any, categories: Categories) -> Longer:
    """Return an example with one more token, which begins a word where a blank is before it."""
    side = "target" if example.target else "text"
    ids = example.target if example.target else example.ids
    words = example.target_words if example.target else example.words
    near = list(ids[-CONTEXT:])
    # A token that is decoded alone loses the blank before it in vocabularies of SentencePiece.
    before, after = (tokenizer.decode(tokens) for tokens in (near, [*near, number]))
    last = max(words, default=SPECIAL_WORD)
    begins = SPECIAL_WORD in (last, *words[-1:]) or after[len(before) : len(before) + 1].isspace()
    word = last + 1 if begins else last
    if number in tokenizer.all_special_ids:
        word = SPECIAL_WORD
    category = categories.of_ids([0, number], [OTHER, OTHER if word >= 0 else SEP])[1]
    if side == "target":
        return replace(
            example,
            target=(*ids, number),
            target_categories=(*example.target_categories, category),
            target_words=(*words, word),
        )
    return replace(
        example,
        ids=(*ids, number),
        segments=(*example.segments, *(example.segments[-1:] or (0,))),
        categories=(*example.categories, category),
        words=(*words, word),
        segment_names=(*example.segment_names, ANSWER),
    )


@dataclass(frozen=True, slots=True)
class TokenIds:
    """Ids of one text as a server has read and written them, without its padding.

    Attributes:
        ids: Vocabulary ids, special tokens included.
        prompt: Number of first ids that the model was given, and did not write itself; None where
            that is not said.
        positions: Position of each token in the model; empty for 0, 1, 2 and so on.
    """

    ids: tuple[int, ...]
    prompt: int | None = None
    positions: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, ids: Any, prompt: int | None = None, attention_mask: Any = None, positions: Any = None
    ) -> "TokenIds":
        """Return ids without their padding.

        Args:
            ids: List, or tensor with one axis.
            prompt: Number of first ids that were the prompt, padding included.
            attention_mask: 1 for each id that is read, 0 for padding before and after them.
            positions: Position of each id, of padding as well.

        Raises:
            UsageError: A list is none or has another length, the mask has a hole, or the prompt is
                longer than the ids.
        """
        numbers = _numbers(ids, "ids")
        size = len(numbers)
        mask, places = (1,) * size, tuple[int, ...]()
        if attention_mask is not None:
            mask = _numbers(attention_mask, "attention_mask", size)
        if positions is not None:
            places = _numbers(positions, "position_ids", size)
        first = mask.index(1) if 1 in mask else size
        end = first + sum(mask)
        if first == size or mask != (0,) * first + (1,) * sum(mask) + (0,) * (size - end):
            raise UsageError(
                "the attention_mask must be 1 for ids that follow each other, and 0 for padding "
                "before and after them; leave ids in between out."
            )
        if prompt is not None and prompt not in range(first + 1, end + 1):
            raise UsageError(
                f"prompt is {prompt!r}, and must be a number from {first + 1} to {end}, as ids "
                f"{first} to {end - 1} are read."
            )
        within = None if prompt is None else int(prompt) - first
        return cls(numbers[first:end], within, places[first:end])


def _numbers(values: Any, name: str, size: int | None = None) -> tuple[int, ...]:
    """Return a list of numbers from 0, of which there are as many as ids."""
    listed = values.tolist() if hasattr(values, "tolist") else values
    is_list = isinstance(listed, Sequence) and 0 < len(listed) == (size or len(listed))
    whole = is_list and all(isinstance(number, int | np.integer) for number in listed)
    if not whole or min(listed) < 0:
        wanted = "whole numbers" if size is None else f"{size} whole numbers, one for each id"
        raise UsageError(f"{name} must be a list of {wanted}, none below 0; {listed!r:.60} is not.")
    return tuple(map(int, listed))


def encode_ids(tokenizer: Any, given: TokenIds) -> Encoded:
    """Return ids as an example; nothing is added to them.

    What the tokenizer itself would put before and after a text has its categories there.

    Raises:
        UsageError: The tokenizer is slow, or an id is not in its vocabulary.
    """
    ids, size = given.ids, len(tokenizer)
    if max(ids) >= size:
        raise UsageError(
            f"the id {max(ids)} is not in the vocabulary, which ends at {size - 1}; give ids of "
            "this model."
        )
    assembly = Assembly.from_tokenizer(tokenizer)
    example = Encoded("ids", (), (), (), ())
    for number in ids:
        example = with_next_token(example, number, tokenizer, assembly.categories)
    prompt = len(ids) if given.prompt is None else given.prompt
    # As those of texts and of what models write: a special token in a prompt is written there.
    others = [OTHER] * prompt + [SEP if word < 0 else OTHER for word in example.words[prompt:]]
    before = tuple(token for token, _ in assembly.single.before)
    after = tuple(token for token, _ in assembly.single.after)
    if ids[: len(before)] == before:
        others[: len(before)] = [CLS] * len(before)
    if ids[len(ids) - len(after) :] == after:
        others[len(ids) - len(after) :] = [SEP] * len(after)
    names = (PROMPT,) * prompt + (ANSWER,) * (len(ids) - prompt)
    return replace(
        example,
        categories=assembly.categories.of_ids(ids, others),
        segment_names=() if given.prompt is None else names,
        positions=given.positions,
    )
