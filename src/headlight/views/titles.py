"""Titles: names of models, texts and results, cut to the columns available."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import bidirectional, east_asian_width

import xarray as xr

from headlight.files import printable
from headlight.result.kinds import MULTI_KIND
from headlight.vocabulary import ATTENTION, CORPUS_LABEL, MODEL_LABEL, base_name

_QUOTED = re.compile("“([^”<]*)”")


def isolated(text: str) -> str:
    """Return the text with marks that keep its direction to itself, if it runs right to left."""
    runs_left = any(bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if runs_left else text


def isolated_quotes(text: str) -> str:
    """Return the text with each quoted word kept to itself, if it runs right to left."""
    return _QUOTED.sub(lambda quoted: f"“{isolated(quoted[1])}”", text)


def model_name(attributes: Mapping[str, object]) -> str:
    """Return the name of a result's model in a title: as users named it, or its `base_name`."""
    return str(attributes.get(MODEL_LABEL) or base_name(attributes.get("model") or "a model"))


def text_title(attributes: Mapping[Any, object], between: str = " ") -> str:
    """Return the name of the texts in titles: both texts, or the first message of the user.

    Args:
        attributes: Attributes of a result on one text.
        between: Separator of two texts.
    """
    texts = [str(attributes.get(name, "")) for name in ("text", "pair")]
    messages = _messages(attributes)
    if not messages:
        return between.join(filter(None, texts))
    users = [content for role, content in messages if role == "user"]
    return f"Chat: {next(filter(None, users), texts[0])}"


def last_message(attributes: Mapping[Any, object]) -> str:
    """Return the last message of a chat that is not empty; nothing of other texts."""
    contents = [content for _, content in _messages(attributes) if content]
    return contents[-1] if contents else ""


def _messages(attributes: Mapping[Any, object]) -> list[tuple[str, str]]:
    """Return the roles and contents of a chat; none of other texts, or of a changed file."""
    try:
        messages = json.loads(str(attributes["chat"]))["messages"]
        return [(str(message["role"]), str(message["content"])) for message in messages]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a result: the model, the corpus, and the kind of attention if it is worth naming.

    Attributes:
        model: Name of the model.
        corpus: Name of the corpus, or None.
        kind: Kind of attention, with a colon, or nothing.
    """

    model: str
    corpus: str | None
    kind: str

    @classmethod
    def from_result(cls, result: xr.Dataset) -> "Subject":
        """Return the subject of a result."""
        attributes = result.attrs
        kind = str(attributes.get("kind", ""))
        is_qualified = MULTI_KIND in attributes or kind == "cross"
        return cls(
            model_name(attributes),
            str(attributes.get(CORPUS_LABEL) or base_name(attributes["corpus"]))
            if "corpus" in attributes
            else None,
            f"{ATTENTION.get(kind, kind)}: " if is_qualified else "",
        )

    def __str__(self) -> str:
        read = "" if self.corpus is None else f" reading {self.corpus}"
        return f"{self.kind}{self.model}{read}"


def shortened(text: str, most: int) -> str:
    """Return the printable text, cut to ``most`` columns; wide characters count as two."""
    printed = printable(text)
    if sum(map(_columns, printed)) <= most:
        return printed
    room, prefix = most - 1, ""
    for character in printed:
        room -= _columns(character)
        if room < 0:
            break
        prefix += character
    return prefix + "…"


def _columns(character: str) -> int:
    # Wide (W) and full-width (F) characters, such as Chinese ones.
    return 2 if east_asian_width(character) in "WF" else 1
