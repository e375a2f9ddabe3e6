"""Origin of a result: the text that was read, and the model."""

from collections.abc import Mapping
from typing import Any

from headlight.capture import CapturedModel
from headlight.chats import Chat, Readable, as_read
from headlight.encode import piece_style
from headlight.encode.chat_templates import write_chat
from headlight.result import stamp

CHAT = "chat"
"""Attribute of what was read as a chat: its messages, as JSON."""


def origin(
    model: CapturedModel, text: Readable, pair: str | None, **attributes: Any
) -> dict[str, Any]:
    """Return the attributes of a result on one text.

    Args:
        model: Model that read the text, with its tokenizer.
        text: Text or chat that the model read.
        pair: Second text.
        attributes: ``title``, ``stage``, and other attributes of the result.
    """
    text = as_read(text)
    chat = {CHAT: text.as_json()} if isinstance(text, Chat) else {}
    written = as_written(model, text)
    about = {"text": written, "pair": pair or "", **chat, **attributes, **model.origin}
    if model.sees:
        return about | stamp()
    return about | {"pieces": piece_style(model.require_tokenizer("texts are read")), **stamp()}


def as_written(model: CapturedModel, text: Readable) -> str:
    """Return a text as it is, and a chat as its template writes it."""
    text = as_read(text)
    if isinstance(text, Chat):
        return write_chat(model.require_tokenizer("texts are read"), text).text
    return str(text)


def text_of(attributes: Mapping[Any, Any]) -> str | Chat:
    """Return the text or chat that was read, from attributes of `origin`."""
    if CHAT in attributes:
        return Chat.of_json(str(attributes[CHAT]))
    return str(attributes["text"])
