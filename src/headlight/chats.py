"""Chats: messages with roles, checked."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headlight.errors import UsageError
from headlight.vocabulary import ROLES

BEYOND_TEXT = (
    "tool_calls",
    "function_call",
    "tool_call_id",
    "reasoning_content",
    "thinking",
    "tools",
    "functions",
    "documents",
)
"""Entries of a message or a chat beside its texts, which are refused."""

SENDERS = {"human": "user", "gpt": "assistant", **{role: role for role in ROLES}}
"""Role of each sender of ShareGPT, whose messages have ``from`` and ``value``."""

HOLDERS = ("messages", "conversations")
"""Keys of an object that holds messages, the second of ShareGPT."""

_ROLE, _CONTENT = (
    f"[\"'“‘]?{name}[\"'”’]?\\s*:" for name in (f"(?:role|{'|'.join(HOLDERS)})", "content")
)
_FROM = f"[\"'“‘]?from[\"'”’]?\\s*:\\s*[\"'“‘]?(?:{'|'.join(SENDERS)})\\b"
BEGINNING = re.compile(rf"\s*(?:\[\s*)?\{{\s*(?:{_ROLE}|{_FROM}|{_CONTENT}.*{_ROLE})", re.DOTALL)
"""The beginning of messages as JSON, or as something meant to be JSON."""

BETWEEN = "\n\n"
"""Separator of messages that are read without a template."""


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages of a chat, which a model reads as the template of its tokenizer writes them.

    Attributes:
        messages: Objects with a ``role`` of `headlight.vocabulary.ROLES` and a ``content``, in
            their order; other entries are passed to the template.
        template: Whether the template writes them; otherwise their contents follow each other,
            with a blank line between.
        answer: Whether the beginning of an answer follows, as the template writes it. None leaves
            it to the question: it does if the model is to predict, and the last message is not the
            assistant's.
    """

    messages: tuple[Mapping[str, Any], ...]
    template: bool = True
    answer: bool | None = None

    @classmethod
    def of(cls, value: object, *, system: str | None = None, template: bool = True) -> "Chat":
        """Return the chat of a list of messages, or of an object that holds one.

        Args:
            value: Messages, or an object with one of `HOLDERS`; those of ShareGPT get the roles of
                `SENDERS`.
            system: Text of a system message, which replaces that of the chat.
            template: Whether the template writes the messages.

        Raises:
            UsageError: There are no messages, or one has an unknown role or anything but a text.
        """
        items = value
        if isinstance(value, Mapping):
            _refuse_beyond_text(value, "the chat")
            items = next((value[name] for name in HOLDERS if name in value), [value])
        if not isinstance(items, list | tuple) or not items:
            raise UsageError(
                "a chat is a list of messages, each an object with a role and a content, or an "
                'object {"messages": [...]}; give one.'
            )
        messages = [_message(item, number) for number, item in enumerate(items, 1)]
        if system is not None:
            messages = [message for message in messages if message["role"] != "system"]
            messages.insert(
                0, {"role": "system", "content": require_characters(system, "the system message")}
            )
        if not any(message["content"].strip() for message in messages):
            raise UsageError("all messages of the chat are empty; write at least one word.")
        return cls(tuple(messages), template)

    @classmethod
    def of_json(cls, text: str) -> "Chat":
        """Return the chat from the JSON of `as_json`."""
        kept = json.loads(text)
        return replace(cls.of(kept["messages"]), template=kept["template"], answer=kept["answer"])

    def as_json(self) -> str:
        """Return the whole chat as JSON."""
        messages = [dict(message) for message in self.messages]
        whole = {"messages": messages, "template": self.template, "answer": self.answer}
        return json.dumps(whole, ensure_ascii=False, default=str)

    @property
    def contents(self) -> list[str]:
        """The texts of the messages."""
        return [message["content"] for message in self.messages]

    def with_contents(self, contents: Sequence[str]) -> list[dict[str, Any]]:
        """Return the messages with other texts."""
        pairs = zip(self.messages, contents, strict=True)
        return [{**message, "content": content} for message, content in pairs]


Messages = Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""Messages, or an object that holds them under one of `HOLDERS`."""

Readable = str | Chat | Messages
"""One text that a model reads."""


def as_read(text: object, *, predicts: bool = False) -> Any:
    """Return messages as a `Chat` with `answer` set, and any other object as it is.

    Args:
        text: Text, chat, or messages of a chat, for a model to read.
        predicts: Whether the model is to predict its continuation.

    Raises:
        UsageError: The messages cannot be read.
    """
    if not isinstance(text, Chat):
        if isinstance(text, str) or not holds_chat(text):
            return text
        text = Chat.of(text)
    if text.answer is not None:
        return text
    answers = text.messages[-1]["role"] == "assistant"
    return replace(text, answer=predicts and text.template and not answers)


def holds_chat(value: object) -> bool:
    """Return whether a value, or the value of a JSON text, is messages of a chat.

    Messages are objects with a role and a content.  In a text of several lines the first line may
    be the JSON, since files of chats have one in each line.
    """
    if isinstance(value, str):
        return any(holds_chat(_json(part)) for part in (value, value.lstrip().partition("\n")[0]))
    return is_chat(value) or (isinstance(value, Mapping) and _is_message(value))


def begins_as_chat(text: str) -> bool:
    """Return whether a text is the JSON of messages, or begins as such and is broken further on.

    A field refuses such a text, which is not meant to be read as words.
    """
    return BEGINNING.match(text) is not None or holds_chat(text)


def is_chat(value: object) -> bool:
    """Return whether a value is a chat, a list of messages, or an object with either."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in HOLDERS if name in value), None)
    if isinstance(value, Chat):
        return True
    items = value if isinstance(value, list | tuple) else ()
    named = all(isinstance(item, Mapping) and ("role" in item or "from" in item) for item in items)
    return named and any(_is_message(item) for item in items)


def _is_message(item: Mapping[str, Any]) -> bool:
    """Return whether an object has the entries of a message, of ShareGPT or of another form."""
    return {"role", "content"} <= item.keys() or {"from", "value"} <= item.keys()


def _message(item: object, number: int) -> dict[str, Any]:
    """Return a message whose content is one text.

    Raises:
        UsageError: It is no message, or its content is no text.
    """
    place = f"message {number}"
    if isinstance(item, Mapping) and "role" not in item and "from" in item:
        rest = {name: entry for name, entry in item.items() if name not in ("from", "value")}
        sender = item["from"]
        role = SENDERS.get(sender, sender) if isinstance(sender, str) else sender
        item = {**rest, "role": role, "content": item.get("value")}
    if not isinstance(item, Mapping) or "role" not in item:
        raise UsageError(f"{place} has no role; write {{'role': 'user', 'content': ...}}.")
    role = item["role"]
    _refuse_beyond_text(item, place)
    if role not in ROLES:
        raise UsageError(
            f"{place} has the role {role!r}; messages of {', '.join(ROLES)} are read, so leave it "
            "out."
        )
    return {**item, "content": require_characters(_content(item.get("content"), place), place)}


def _content(content: object, place: str) -> str:
    """Return the text of a message, or its texts one after the other.

    Templates that take a list of parts write nothing between their texts.

    Raises:
        UsageError: It has no text, or other parts.
    """
    if isinstance(content, list | tuple):
        kinds = list(_kinds(content))
        if {*kinds} != {"text"}:
            raise UsageError(
                f"the content of {place} is a list of {', '.join(kinds) or 'nothing'}; texts are "
                "read, so leave pictures and sound out."
            )
        return "".join(part["text"] for part in content)
    if content is None:
        raise UsageError(f"{place} has no content; write a string, which may be empty.")
    if not isinstance(content, str):
        raise UsageError(
            f"the content of {place} is {type(content).__name__}, and no text; write a string."
        )
    return content


def _kinds(parts: Sequence[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Mapping):
            kind = str(part.get("type"))
            has_text = kind != "text" or isinstance(part.get("text"), str)
            yield kind if has_text else "text without a string"
        else:
            yield type(part).__name__


def _refuse_beyond_text(value: Mapping[str, Any], place: str) -> None:
    for name in BEYOND_TEXT:
        if value.get(name):
            raise UsageError(f"{place} has {name!r}, and texts alone are read; leave it out.")


def require_characters(text: str, place: str) -> str:
    """Return a text, and refuse one that is not valid Unicode.

    Raises:
        UsageError: It holds half of a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise UsageError(
            f"{place} holds half of a surrogate pair, which is no character; write it again."
        ) from problem
    return text


def _json(text: str) -> object:
    """Return the JSON of a text, if that is a list or an object."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
