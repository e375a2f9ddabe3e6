"""Functions that answer a question of one text, with a keyword for each setting."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from headlight.capture import CapturedModel
from headlight.catalogue.questions import QUESTIONS, Question
from headlight.chats import Readable
from headlight.errors import UnknownNameError
from headlight.settings import Settings, plain

T = TypeVar("T")


def answers(asked: str | Question) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function answer a question, with a keyword for each of its settings.

    The function is given the model, the text, the second text or None, the settings, and the
    ``command`` by which it was asked.  What it becomes is also the method of a model.

    Args:
        asked: Row of the question, or the name of a question of this package.
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
