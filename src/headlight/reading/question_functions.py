"""Functions that answer a question, with a keyword for each setting."""

import inspect
import re
import textwrap
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from headlight.catalogue.questions import QUESTIONS, Question
from headlight.errors import UnknownNameError
from headlight.settings import Settings, accepted, default_of, entries, plain

T = TypeVar("T")

NOT_OF_USERS = ("settings", "command", "progress")
"""Arguments by which commands and the app ask; users name each setting by itself."""

TEXTS = {
    "model": "the model.",
    "text": "what it reads; a list of messages is a chat.",
    "pair": "a second text: the second segment, or the decoder's text in an encoder-decoder model.",
}
"""Explanations of the arguments of most questions, which an ``Args`` section may replace."""


def answers(asked: str | Question) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function answer a question, with a keyword for each of its settings.

    The function takes the model and what the question is about, such as a text and a second one,
    and by keyword the ``settings`` and the ``command`` by which it was asked.  What it becomes is
    also the method of a model.

    Args:
        asked: Row of the question, or the name of a question of this package.
    """
    question = QUESTIONS[asked] if isinstance(asked, str) else asked
    names = question.settings.hints()

    def decorate(answer: Callable[..., T]) -> Callable[..., T]:
        parameters = inspect.signature(answer).parameters

        @wraps(answer)
        def ask(
            *subject: Any,
            settings: Settings | None = None,
            command: str | None = None,
            **keywords: Any,
        ) -> T:
            for name in keywords:
                if name not in names and name not in parameters:
                    raise UnknownNameError(f"setting of {question.name}", name, names)
            others = {name: value for name, value in keywords.items() if name not in names}
            if settings is None:
                chosen = {name: plain(keywords[name]) for name in keywords if name in names}
                settings = question.settings.from_mapping(chosen)
            return answer(*subject, settings=settings, command=command, **others)

        signature = _signature(question, answer)
        ask.__signature__ = signature  # type: ignore[attr-defined]
        ask.__doc__ = _documentation(question, answer.__doc__ or "", signature)
        return ask

    return decorate


def _signature(question: Question, answer: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of the method: what the question is about, and each setting."""
    original = inspect.signature(answer)
    subject = [
        parameter for name, parameter in original.parameters.items() if name not in NOT_OF_USERS
    ]
    settings = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default_of(question.settings, name),
            annotation=accepted(hint),
        )
        for name, hint in question.settings.hints().items()
    ]
    return original.replace(parameters=[*subject, *settings])


def _documentation(question: Question, docstring: str, signature: inspect.Signature) -> str:
    """Return the docstring of the method, which explains all its arguments."""
    description, *sections = re.split(
        r"^(Args|Returns|Raises):\n", inspect.cleandoc(docstring), flags=re.MULTILINE
    )
    said = dict(zip(sections[::2], sections[1::2], strict=True))
    lines = TEXTS | entries(docstring, "Args") | question.settings.explanations()
    said["Args"] = "".join(
        textwrap.fill(
            f"{name}: {lines[name]}", 92, initial_indent=" " * 4, subsequent_indent=" " * 8
        )
        + "\n"
        for name in signature.parameters
    )
    return description + "\n".join(
        f"{section}:\n{said[section].rstrip()}\n"
        for section in ("Args", "Returns", "Raises")
        if section in said
    )
