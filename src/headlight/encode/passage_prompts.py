"""Prompts with passages, which may change places or be left out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headlight.chats import Chat, require_characters
from headlight.encode.chat_templates import CLOSES, OPENS, first_characters, write_chat
from headlight.encode.examples import Encoded
from headlight.encode.pieces import encodings, pieces_of_encoding, special_ids
from headlight.encode.special_tokens import Assembly
from headlight.errors import UsageError

_PLACE = re.compile(rf"(\s*){OPENS}(\d+){CLOSES}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Question with its passages, which may change places or be left out.

    Attributes:
        passages: Texts of the passages.
        contents: Content of each message, or the one text; a mark stands in the place of each
            passage.
        chat: Messages; None for a text.
    """

    passages: tuple[str, ...]
    contents: tuple[str, ...]
    chat: Chat | None

    @classmethod
    def from_question(cls, question: str | Chat, passages: Sequence[str]) -> "Prompt":
        """Return a prompt: passages stay where the question has them, else they stand before it.

        A question that is a text is then written as ``Context: ... Question: ... Answer:``; in a
        chat the passages begin the last message of the user.

        Raises:
            UsageError: A passage stands in the question more than once, or not while others do; or
                no message is the user's.
        """
        chat = question if isinstance(question, Chat) else None
        contents = _refuse_marks([str(question)] if chat is None else chat.contents)
        marks = [f"{OPENS}{number}{CLOSES}" for number in range(len(passages))]
        if any(passage in content for passage in passages for content in contents):
            contents = _insert_marks(contents, passages, marks)
        elif chat is None:
            # Decoders attend to the first token for want of others: it is of no passage.
            contents = ["\n".join(["Context:", *marks, f"\nQuestion: {question}\nAnswer:"])]
        else:
            of_user = [at for at, message in enumerate(chat.messages) if message["role"] == "user"]
            if not of_user:
                raise UsageError("no message of the chat is the user's; write the question as one.")
            contents[of_user[-1]] = "\n".join([*marks, "", contents[of_user[-1]]])
        return cls(tuple(passages), tuple(contents), chat)

    def written(
        self, tokenizer: Any, order: Sequence[int], kept: Collection[int]
    ) -> tuple[str, dict[int, range]]:
        """Return the prompt as a text, and the characters of each passage in it.

        Args:
            tokenizer: Tokenizer whose template writes a chat.
            order: Number of the passage in each place.
            kept: Numbers of the passages to keep; the others go, with the blanks before them.

        Raises:
            UsageError: See `write_chat`.
        """
        contents: list[str] = []
        starts: list[tuple[int, int, int]] = []
        for content in self.contents:
            text, at = "", 0
            for place in _PLACE.finditer(content):
                text, at, number = text + content[at : place.start()], place.end(), int(place[2])
                if order[number] in kept:
                    text += place[1] if text else ""
                    starts.append((len(contents), order[number], len(text)))
                    text += self.passages[order[number]]
            contents.append(text + content[at:] if text or not at else content[at:].lstrip())
        begins, text = [0], contents[0]
        if self.chat is not None:
            messages = tuple(self.chat.with_contents(contents))
            whole = write_chat(tokenizer, replace(self.chat, messages=messages))
            text, begins = whole.text, list(whole.ends[:-1:2])
            for at, content in enumerate(contents):
                if not text.startswith(content, begins[at]):  # the template takes blanks off
                    begins[at] -= len(content) - len(content.lstrip())
        return text, {
            number: range(begins[at] + start, begins[at] + start + len(self.passages[number]))
            for at, number, start in starts
        }

    def encode(
        self, tokenizer: Any, order: Sequence[int], kept: Collection[int]
    ) -> tuple[Encoded, list[int]]:
        """Return the prompt as tokens to go on from, and the passage of each token, or -1.

        For the arguments see `written`.
        """
        text, passages = self.written(tokenizer, order, kept)
        assembly = Assembly.from_tokenizer(tokenizer)
        (encoding,) = encodings(tokenizer, [text])
        pieces = pieces_of_encoding(text, encoding, special_ids(tokenizer))
        if self.chat is not None and self.chat.template:
            assembly = assembly.without_special_tokens()
        before = len(assembly.single.before)
        owners = [
            next((number for number, characters in passages.items() if character in characters), -1)
            for character in first_characters(text, encoding.offsets)
        ]
        # Nothing ends a text that is to be gone on with.
        example = assembly.encode_text("a prompt", pieces).beginning(before + len(pieces))
        return example, [-1] * before + owners


def _refuse_marks(texts: list[str]) -> list[str]:
    """Return the texts, which must hold no mark of ours.

    Raises:
        UsageError: A text holds a mark, or is not valid Unicode.
    """
    if any(OPENS in require_characters(text, "the question") for text in texts):
        raise UsageError(
            f"the question holds U+{ord(OPENS):X}, a character for private use; leave it out."
        )
    return texts


def _insert_marks(contents: list[str], passages: Sequence[str], marks: Sequence[str]) -> list[str]:
    """Return texts with marks in the place of passages.

    Raises:
        UsageError: A passage stands there several times, not at all, or within another.
    """
    for number, (passage, mark) in enumerate(zip(passages, marks, strict=True), 1):
        count = sum(content.count(passage) for content in contents)
        if count != 1:
            raise UsageError(
                f"passage {number} stands {count} times in the question, in which passages are; "
                "let each stand there once and by itself, or none of them."
            )
        contents = [content.replace(passage, mark) for content in contents]
    return contents
