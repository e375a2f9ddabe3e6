"""Results on one text: the function that answers a question, what was read, and its files."""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import xarray

from headlight import files
from headlight.capture import CapturedModel
from headlight.catalogue.questions import QUESTIONS, Question
from headlight.chats import Chat, Readable, as_read
from headlight.encode import Encoded, piece_style, token_names
from headlight.encode.chats import write_chat
from headlight.errors import UnknownNameError, UsageError
from headlight.result import save, stamp
from headlight.settings import Settings, plain
from headlight.vocabulary import CATEGORIES, Kind

CHAT = "chat"
"""Attribute of what was read as a chat: its messages, as JSON."""

Positions = dict[str, list[Any]]
"""Numbers and names of each position of a text, by name."""


class TextResult:
    """Result on one text, as a dataset that can be written."""

    dataset: xarray.Dataset
    called: ClassVar[str]
    """It is, for the refusal of other suffixes: ``a prediction is``."""

    def save(self, path: str | Path) -> Path:
        """Write it; the suffix says how: ``.json``, ``.nc``, or ``.html`` where it has a page.

        Raises:
            UsageError: another suffix.
            ResultError: the file cannot be written.
        """
        makers = {".html": self._page, ".json": self._json}
        return save_as(path, self.dataset, self.called, makers)

    def as_json(self) -> dict[str, Any]:
        """Return the attributes of the result, as JSON can hold them."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.dataset.attrs.items()
        }

    def _json(self) -> str:
        return json.dumps(self.as_json(), ensure_ascii=False)

    def _page(self) -> str:
        from headlight.views.result_page import result_page

        return result_page(self.dataset)


T = TypeVar("T")


def answers(asked: str | Question) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function answer a question, with a keyword for each of its settings.

    The function is given the model, the text, the second text or None, the settings, and the
    ``command`` by which it was asked.  What it becomes is also the method of a model.

    Args:
        asked: The row of the question, or the name of one of this package.
    """
    question = QUESTIONS[asked] if isinstance(asked, str) else asked

    def decorate(answer: Callable[..., T]) -> Callable[..., T]:
        @wraps(answer)
        def ask(
            model: CapturedModel,
            text: Readable,
            pair: str | None = None,
            *,
            settings: Settings | None = None,
            command: str | None = None,
            **choices: Any,
        ) -> T:
            names = question.settings.hints()
            for choice in choices:
                if choice not in names:
                    raise UnknownNameError(f"setting of {question.name}", choice, names)
            if settings is None:
                plain_choices = {choice: plain(value) for choice, value in choices.items()}
                settings = question.settings.from_mapping(plain_choices)
            return answer(model, text, pair, settings, command=command)

        before, _, after = (answer.__doc__ or "").partition("Raises:")
        ask.__doc__ = f"{before}{question.arguments}\n\n    Raises:{after}"
        ask.__signature__ = question.signature  # type: ignore[attr-defined]
        return ask

    return decorate


def save_as(
    path: str | Path, dataset: xarray.Dataset, what: str, makers: Mapping[str, Callable[[], str]]
) -> Path:
    """Write a dataset: as ``.nc``, or as the text that is made for the suffix of the path.

    Args:
        path: of the file.
        dataset: what was found.
        what: it is, for the refusal of other suffixes: ``a reading is``.
        makers: by suffix, what makes the text.

    Raises:
        UsageError: another suffix.
        ResultError: the file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".nc":
        save(dataset, path)
    elif path.suffix in makers:
        files.write(path, makers[path.suffix]().encode())
    else:
        raise UsageError(f"{path}: {what} saved as {', '.join(makers)} or .nc; choose one.")
    return path


def origin(model: CapturedModel, text: Readable, pair: str | None, **own: Any) -> dict[str, Any]:
    """Attributes of what is found of one text.

    Args:
        model: that read it, with its tokenizer.
        text: what it read.
        pair: the second text.
        own: ``title``, ``stage``, and what else is said of it.
    """
    text = as_read(text)
    chat = {CHAT: text.as_json()} if isinstance(text, Chat) else {}
    written = as_written(model, text)
    about = {"text": written, "pair": pair or "", **chat, **own, **model.origin}
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
    """Return what was read, which attributes of `origin` tell."""
    if CHAT in attributes:
        return Chat.of_json(str(attributes[CHAT]))
    return str(attributes["text"])


def segments_of(tokens: Positions) -> dict[str, tuple[str, list[str]]]:
    """Return the named segments of tokens as coordinates of both sides; none of other texts."""
    if "segment" not in tokens:
        return {}
    return {f"{side}_segment": (side, tokens["segment"]) for side in ("query", "key")}


def sides_of(example: Encoded, kind: Kind, tokenizer: Any) -> tuple[Positions, Positions]:
    """Tokens, categories, words and named segments of the attending and of the attended text."""
    source: Positions = {
        "token": token_names(tokenizer, example.ids),
        "category": [CATEGORIES[code] for code in example.categories],
        "word": list(example.words),
        **({"segment": list(example.segment_names)} if example.segment_names else {}),
    }
    if kind == "encoder" or not example.target:
        return source, source
    target: Positions = {
        "token": token_names(tokenizer, example.target),
        "category": [CATEGORIES[code] for code in example.target_categories],
        "word": list(example.target_words),
    }
    return target, (source if kind == "cross" else target)
