"""Texts that the browser sent, checked against the limits of the app."""

from collections.abc import Mapping
from typing import Any

from headlight.capture import CapturedModel
from headlight.capture.one_text import one_text
from headlight.chats import Chat, Readable, begins_as_chat, holds_chat
from headlight.corpora.text_checks import require_text
from headlight.errors import UsageError
from headlight.files import parse_json
from headlight.reading import what_if as what_if
from headlight.vocabulary import Kinds

FIELDS = {"text": "text", "pair": "second text", "compare": "text to compare with"}
"""Labels of the fields of the page, by the names under which their texts are sent."""

Params = Mapping[str, Any]


def require_short(
    model: CapturedModel, longest: int, text: Readable, pair: str | None, kind: Kinds | None
) -> None:
    """Refuse a text with more tokens than the app takes, before the model runs.

    Raises:
        UsageError: The text is too long.
    """
    _, example = one_text(model, text, pair, kind, purpose="the app needs text")
    require_few(max(len(example.ids), len(example.target)), longest)


def require_few(tokens: int, longest: int) -> None:
    """Refuse more tokens than the app takes.

    Raises:
        UsageError: There are more.
    """
    if tokens > longest:
        raise UsageError(
            f"the text has {tokens} tokens, and this app takes {longest}; shorten it, or start "
            "the app for longer texts."
        )


def subject_of(params: Params, name: str) -> str | Chat:
    """Return a text that the browser sent, or a chat: messages, or their JSON, as it was typed.

    Raises:
        UsageError: It is missing, empty or neither.
    """
    value = params.get(name)
    if not (begins_as_chat(value) if isinstance(value, str) else holds_chat(value)):
        return text_of(params, name)
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as problem:
            raise UsageError(
                f"the {FIELDS[name]} is no JSON of one chat ({problem}); write one list of "
                'messages: [{"role": "user", "content": "…"}].'
            ) from problem
    return Chat.of(value)


def text_of(params: Params, name: str) -> str:
    """Return a text that the browser sent.

    Raises:
        UsageError: It is missing, empty or no text.
    """
    text = params.get(name)
    if begins_as_chat(str(text)):
        raise UsageError(
            f"the {FIELDS[name]} begins as the JSON of a chat; a chat is read as the text, or as "
            "the text to compare with."
        )
    require_text("" if text is None else text, FIELDS[name])
    return str(text).strip()
