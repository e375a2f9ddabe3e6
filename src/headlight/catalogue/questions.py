"""The questions of one text: where each is answered and shown.

A row makes the method of `headlight.reading.model.Model`, the command, its files, its page and what
the terminal shows.  Nothing here needs torch.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.catalogue.question_settings import (
    AlternativeSettings,
    ExplanationSettings,
    GenerationSettings,
    PatchSettings,
    PredictionSettings,
    RouteSettings,
    TextFlowSettings,
)
from headlight.catalogue.registry import QUESTIONS as GROUP, rows_of_packages
from headlight.errors import UsageError
from headlight.settings import Settings, accepted, default_of


@dataclass(frozen=True, kw_only=True)
class Question:
    """Question to a model about one text, or other arguments of its function, declared once.

    Attributes:
        name: Name of the method and of the command.
        sentence: Summary of the command, as a sentence.
        settings: Class of its settings.
        answered: Module with a function of that name.
        shown: Module with ``sections(answer)`` and ``findings(answer)``, for a question of one
            text.
        papers: Papers of its method.
        examples: Examples of the command: arguments, and a remark or nothing.
        head: Head with which the command loads the model; see `headlight.load`.
        is_command: Whether it has a command of its own.
        of_one_text: Whether it is about one text, or two; else it is a method alone.
    """

    name: str
    sentence: str
    settings: type[Settings]
    answered: str
    shown: str = ""
    papers: str = ""
    examples: Sequence[tuple[str, str]] = ()
    head: str = "none"
    is_command: bool = True
    of_one_text: bool = True

    @property
    def answer(self) -> Callable[..., Any]:
        """Return the method of a model; this imports torch.

        For one text it is ``answer(model, text, pair, settings=..., command=...)``.
        """
        function: Callable[..., Any] = getattr(import_module(self.answered), self.name)
        return function

    @property
    def view(self) -> ModuleType:
        """Return the module with ``sections(answer)`` and ``findings(answer)``."""
        return import_module(self.shown)

    @property
    def signature(self) -> inspect.Signature:
        """Return the signature of the method: the texts, and a keyword for each setting."""
        keyword, beside = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter("model", beside),
            inspect.Parameter("text", beside, annotation=str | Sequence[Mapping[str, Any]]),
            inspect.Parameter("pair", beside, default=None, annotation=str | None),
        ]
        for name, hint in self.settings.hints().items():
            default = default_of(self.settings, name)
            parameters.append(
                inspect.Parameter(name, keyword, default=default, annotation=accepted(hint))
            )
        return inspect.Signature(parameters)

    @property
    def arguments(self) -> str:
        """Return the section ``Args`` of the docstring."""
        lines = {
            "model": "the model.",
            "text": "what it reads; a list of messages is a chat.",
            "pair": "a second text: the second segment, or the decoder's text in an "
            "encoder-decoder model.",
            **self.settings.explanations(),
        }
        wrapped = (
            textwrap.fill(f"{name}: {text}", 92, initial_indent=" " * 4, subsequent_indent=" " * 8)
            for name, text in lines.items()
        )
        return "\n".join(["Args:", *wrapped])


QUESTIONS: Mapping[str, Question] = {
    row.name: row
    for row in (
        Question(
            name="predict",
            sentence="Decompose a prediction into what each token, head, layer and bias adds.",
            settings=PredictionSettings,
            answered="headlight.reading.prediction",
            shown="headlight.views.reading.prediction",
            papers="Ferrando et al. 2023; Modarressi et al. 2023",
            examples=(
                ('"The cat sat on the [MASK]." --target floor', ""),
                ('"The cat sat on the [MASK]." --target floor --against chair', ""),
                ('"The doctor said that" --model gpt2 --target " he"', "what comes next"),
                ('"The nurse said" --model gpt2 --compare-text "The guard said"', "two prompts"),
                ('"A fine film." --model NAME --target POSITIVE', "a class"),
            ),
            head="any",
        ),
        Question(
            name="generate",
            sentence="Generate text, and read which tokens each generated token attends to.",
            settings=GenerationSettings,
            answered="headlight.reading.generation",
            shown="headlight.views.reading.generated_text",
            papers="Sarti et al. 2023",
            examples=(
                ('"The capital of France is" --model gpt2 --html answer.html', ""),
                ('"Das Haus ist groß." --model NAME --max-new-tokens 30', "a translator"),
                ('"Mary met John, and" --model gpt2 --predict', "what adds to each logit"),
                ("--chat chat.json --model NAME --html answer.html", "the answer to a chat"),
            ),
            head="any",
        ),
        Question(
            name="patch",
            sentence="Patch each head with that of another text: which carry the difference.",
            settings=PatchSettings,
            answered="headlight.reading.patching",
            shown="headlight.views.reading.patching",
            papers="Vig et al. 2020; Wang et al. 2023",
            examples=(
                ('"The nurse said" --model gpt2 --compare-text "The guard said"', ""),
                (
                    '"Mary met John; John gave" --model gpt2 --compare-text '
                    '"Mary met John; Mary gave" --target " Mary" --against " John"',
                    "two candidates",
                ),
            ),
            head="any",
        ),
        Question(
            name="alternatives",
            sentence="Find other attention of one head with the same output of the model.",
            settings=AlternativeSettings,
            answered="headlight.reading.alternatives",
            shown="headlight.views.reading.alternatives",
            papers="Brunner et al. 2020, Section 3.3",
            examples=(
                ('"$(cat text.txt)" --layer 1 --head 0', ""),
                ('"$(cat text.txt)" --layer 1 --head 0 --method farthest --queries 0,5', ""),
            ),
        ),
        Question(
            name="routes",
            sentence="Trace a token back to the input: the heads and tokens that it is made of.",
            settings=RouteSettings,
            answered="headlight.reading.routes",
            shown="headlight.views.reading.routes_page",
            papers="Ferrando and Voita 2024; Ferrando et al. 2022",
            examples=(
                ('"Mary met John, and later Mary met" --model gpt2 --html routes.html', ""),
                ('"The cat sat." --token 2 --layer 3 --least 0.1', "one token, one layer"),
                ('"The cat sat." --out routes.svg --json routes.json', ""),
                ('"The cat sat." --compare-text "The dog sat."', "how its parts differ"),
            ),
        ),
        Question(
            name="explain",
            sentence="Explain the attention from one token to another by what was written before.",
            settings=ExplanationSettings,
            answered="headlight.reading.explanation",
            shown="headlight.views.reading.explanation",
            papers="Elhage et al. 2021",
            examples=(
                ('"Mary met John, and later Mary met" --model gpt2', "the head that attends most"),
                ('"The cat sat." --layer 3 --head 2 --query 3 --key 1', "one cell"),
            ),
        ),
        Question(
            name="flow",
            sentence="Attribute hidden tokens to input tokens by several methods.",
            settings=TextFlowSettings,
            answered="headlight.reading.flow",
            shown="headlight.views.reading.flow",
            papers="Abnar and Zuidema 2020; Modarressi et al. 2022; Ferrando et al. 2022",
            is_command=False,  # the command flow is the study; `read --flow` writes this
        ),
    )
}
"""Rows by name, in the order of the help."""


@cache
def questions() -> Mapping[str, Question]:
    """Return all rows by name, those of other packages last."""
    return {**QUESTIONS, **rows_of_packages(GROUP, Question, QUESTIONS)}


def find_question(name: str) -> Question | None:
    """Return the question of a name, if there is one.

    Raises:
        UsageError: it belongs to a distribution that is not installed.
    """
    if name in questions():
        return questions()[name]
    for each in DISTRIBUTIONS.values():
        if name in each.questions:
            raise UsageError(each.refusal(name))
    return None
