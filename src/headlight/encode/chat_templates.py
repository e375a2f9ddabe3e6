"""Chats as texts by the template of a tokenizer, and which characters are whose."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from headlight.catalogue.embedded_models import embedded_models
from headlight.chats import BETWEEN, Chat
from headlight.encode.pieces import Pieces, encodings, pieces_of_encoding, special_ids
from headlight.errors import UsageError, per_door, setting
from headlight.processes import BoundedCopy
from headlight.vocabulary import TEMPLATE

OPENS, CLOSES = "\ue000", "\ue001"
"""Characters for private use, between which the number of a message stands for its content."""


@dataclass(frozen=True, slots=True)
class WrittenChat:
    """Chat as a text.

    Attributes:
        text: Whole text.
        segments: Names of its segments, in their order.
        ends: Ends of the segments: the character after the last of each.
    """

    text: str
    segments: tuple[str, ...]
    ends: tuple[int, ...]

    @classmethod
    def from_parts(
        cls, literals: Sequence[str], contents: Sequence[str], roles: Sequence[str]
    ) -> "WrittenChat":
        """Join contents with what stands before, between and after them."""
        parts, names = [literals[0]], [TEMPLATE]
        for content, literal, role in zip(contents, literals[1:], roles, strict=True):
            parts += [content, literal]
            names += [role, TEMPLATE]
        return cls("".join(parts), tuple(names), tuple(accumulate(map(len, parts))))

    def segment_of(self, character: int) -> str:
        """Return the segment of a character."""
        return self.segments[min(bisect_right(self.ends, character), len(self.ends) - 1)]


def write_chat(tokenizer: Any, chat: Chat) -> WrittenChat:
    """Return a chat as the template writes it, or its contents one after the other.

    Contents are found by writing the chat a second time, with a mark in the place of each: what
    stands around the marks is the template's, system prompts of its own included.

    Raises:
        UsageError: There is no template, it refuses the chat, or does not write each content once,
            as it is or without the blanks around it.
    """
    roles = [str(message["role"]) for message in chat.messages]
    if not chat.template:
        between = [BETWEEN] * (len(roles) - 1)
        return WrittenChat.from_parts(["", *between, ""], chat.contents, roles)
    marks = [f"{OPENS}{number}{CLOSES}" for number in range(len(roles))]
    text = _apply_template(tokenizer, chat, chat.contents)
    literals = _literals(_apply_template(tokenizer, chat, marks), marks)
    contents = None if literals is None else _find_contents(text, literals, chat.contents)
    if literals is not None and contents is not None:
        return WrittenChat.from_parts(literals, contents, roles)
    raise _undividable(
        f"the chat template of {_name(tokenizer)} changes, moves or leaves out what messages say"
    )


def chat_pieces(tokenizer: Any, chat: Chat) -> Pieces:
    """Return the pieces of a chat, each with the name of its segment.

    That is the segment of its first character that is no blank.

    Raises:
        UsageError: See `write_chat`; or the pieces are not those of ``apply_chat_template``.
    """
    written = write_chat(tokenizer, chat)
    if chat.template and getattr(tokenizer, "split_special_tokens", False):
        raise UsageError(
            "the template of a chat is written with special tokens, which are to be read as "
            f"characters; leave out {setting('split_special_tokens')}."
        )
    (encoding,) = encodings(tokenizer, [written.text])
    pieces = pieces_of_encoding(written.text, encoding, special_ids(tokenizer))
    templated = (
        _apply_template(tokenizer, chat, chat.contents, tokenize=True) if chat.template else None
    )
    if templated not in (None, list(pieces.ids)):
        raise _undividable(
            f"{_name(tokenizer)} makes other tokens of this chat than of the text that its "
            "template writes"
        )
    names = [
        written.segment_of(character)
        for character in first_characters(written.text, encoding.offsets)
    ]
    words, count = _words_within(pieces.words, names)
    return Pieces(pieces.ids, words, count, tuple(names))


def first_characters(text: str, offsets: Any) -> Iterator[int]:
    """Yield the first non-blank character of each piece; the first of a piece of blanks alone."""
    for start, end in offsets.tolist():
        blank = end - start - len(text[start:end].lstrip())
        yield start if blank == end - start else start + blank


def _words_within(words: Sequence[int], names: Sequence[str]) -> tuple[list[int], int]:
    """Return the words of pieces, where the end of a segment ends a word, and their number."""
    numbers: list[int] = []
    last, before = -1, None
    for word, name in zip(words, names, strict=True):
        if word >= 0:
            last += (word, name) != before
        before = word, name
        numbers.append(last if word >= 0 else word)
    return numbers, last + 1


def _literals(text: str, marks: Sequence[str]) -> list[str] | None:
    """Return the texts around the marks; None unless each mark is there once, in order."""
    literals = []
    for mark in marks:
        literal, present, text = text.partition(mark)
        if not present:
            return None
        literals.append(literal)
    literals.append(text)
    return None if any(OPENS in part for part in literals) else literals


def _find_contents(text: str, literals: Sequence[str], contents: Sequence[str]) -> list[str] | None:
    """Return the contents as a text holds them between literals; None if it is another."""
    written, at = [], len(literals[0])
    if not text.startswith(literals[0]):
        return None
    for content, literal in zip(contents, literals[1:], strict=True):
        for candidate in (content, content.strip()):
            if text.startswith(candidate + literal, at):
                written.append(candidate)
                at += len(candidate) + len(literal)
                break
        else:
            return None
    return written if at == len(text) else None


def _apply_template(
    tokenizer: Any, chat: Chat, contents: Sequence[str], *, tokenize: bool = False
) -> Any:
    """Return the text that the template writes, or the ids of its tokens.

    Raises:
        UsageError: There is no template, it refuses the chat, or takes too much time or memory.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            f"{_name(tokenizer)} has no chat template; take a model that was tuned on chats, or "
            f"{_without_template()}."
        )
    messages = chat.with_contents(contents)
    state = json.dumps([tokenizer.chat_template, tokenizer.special_tokens_map], default=str)
    try:
        return _writer(tokenizer, state)(messages, bool(chat.answer), tokenize)
    except Exception as problem:  # a template is a program of the model's
        first = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise UsageError(
            f"the chat template of {_name(tokenizer)} does not take this chat: {first}"
        ) from problem


# `state` is a part of the key alone: a tokenizer whose template is set anew is copied again.
@lru_cache(maxsize=2)  # two models are compared
def _writer(tokenizer: Any, state: str) -> BoundedCopy:
    """Return a function that writes chats by the template that the tokenizer has now."""

    def write(messages: Any, answer: bool, tokenize: bool) -> Any:
        written = tokenizer.apply_chat_template(
            messages, tokenize=tokenize, add_generation_prompt=answer, return_dict=tokenize
        )
        return list(written["input_ids"]) if tokenize else str(written)

    return BoundedCopy(write)


def _name(tokenizer: Any) -> str:
    place = str(getattr(tokenizer, "name_or_path", "") or "the tokenizer")
    return next((name for name, path in embedded_models().items() if str(path) == place), place)


def _undividable(reason: str) -> UsageError:
    return UsageError(
        f"{reason}, so it cannot be said which tokens are whose; {_without_template()}."
    )


def _without_template() -> str:
    """Return the advice to read messages one after the other."""
    return per_door(
        python="read the messages one after the other, as headlight.corpora.Chat.of(messages, "
        "template=False)",
        command_line="read the messages one after the other (--no-template)",
        app="write the messages one after the other as a text",
    )
