"""The questions of one text: what each is asked with, and where it is answered and shown.

A row makes the method of `headlight.reading.model.Model`, the command, its files, its page and what
the terminal shows.  Rows of other packages are found by entry points of the group
``headlight.questions``.  Nothing here needs torch.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Literal

from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.catalogue.registry import QUESTIONS as GROUP, rows_of_packages
from headlight.errors import UsageError, setting
from headlight.settings import (
    UNLISTED,
    AtLeast0,
    AtLeast1,
    Range,
    Settings,
    accepted,
    default_of,
    require_distinct,
)
from headlight.settings.flow import AttributionSettings, Slope
from headlight.vocabulary import ROUTE, Kind, require_names_of_heads

USUAL_METHODS = ("rollout", "globenc", "alti")
"""Methods of following tokens that need one forward pass."""


@dataclass(frozen=True, kw_only=True)
class TargetSettings(Settings):
    """Settings of the logit, or difference of logits, that is looked at.

    Attributes:
        target: word that continues the text, such as " he", or fills the mask; or the name or
            number of a class; by default the prediction of the model.
        against: another word or class, whose logit is subtracted.
        position: position of the predicting token, from 0; by default the last of the text, or its
            first mask.
        compare_text: second text with the same number of tokens, such as one that differs in a
            word.
    """

    target: str | None = None
    against: str | None = None
    position: int | None = None
    compare_text: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("target", "against"):
            if getattr(self, name) == "":
                raise UsageError(f"{setting(name)} is empty; write a word, or leave it out.")


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(TargetSettings):
    """Settings of the prediction to explain.

    Attributes:
        slope: slope of linearized activations: ``zero_origin`` (act(x)/x), ``chord`` from the bias,
            or ``derivative``.
    """

    slope: Slope = "zero_origin"


@dataclass(frozen=True, kw_only=True)
class RouteSettings(Settings):
    """Settings of the routes to show; all shares are computed.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        token: token whose routes are shown, from 0, or from -1 backwards; by default the last word.
        layer: layer after which the token is followed, from 0; by default the last.
        least: smallest share of the token that a shown link brings.
        compare_text: second text with the same number of tokens, such as one that differs in a
            word; heads are then named that take most more, or less, than in it.
    """

    kind: Kind | None = None
    token: int | None = None
    layer: AtLeast0 | None = None
    least: Annotated[float, Range(minimum=0, maximum=1)] = ROUTE
    compare_text: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExplanationSettings(Settings):
    """Settings of the cell of an attention matrix to explain.

    Attributes:
        layer: layer, from 0; by default that of the head with the largest weight.
        head: head, from 0; by default the one with the largest weight.
        query: attending token, from 0, or from -1 backwards.
        key: attended token; by default the one with the largest weight, except the first token and
            the query.
        kind: kind of attention; by default the first that the model has.
    """

    layer: AtLeast0 | None = None
    head: AtLeast0 | None = None
    query: int = -1
    key: int | None = None
    kind: Kind | None = None


@dataclass(frozen=True, kw_only=True)
class TextFlowSettings(Settings):
    """Settings of the flow of tokens.

    Attributes:
        methods: methods of attribution; see `headlight.settings.flow.METHODS`.
        kind: kind of attention; by default the first that the model has.
        layers: layers after which tokens are analysed, from 0; by default all.
        attribution: computation of ``attribution``, if it is among the methods.
    """

    methods: tuple[str, ...] = USUAL_METHODS
    kind: Kind | None = None
    layers: tuple[int, ...] | None = None
    attribution: AttributionSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("methods", self.methods)


@dataclass(frozen=True, kw_only=True)
class AlternativeSettings(Settings):
    """Settings of the search for alternatives.

    Attributes:
        layer: layer, from 0.
        head: head, from 0.
        number: number of alternatives.
        kind: kind of attention; by default the first that the model has.
        method: ``random``: along a random direction of LN([T, 1]), Eq. 7 of the paper; or
            ``farthest``: the largest total variation that repeated linear programs find.
        distance: step, as a share of λ_max or of the way to the farthest; above 0 and at most 1.
        queries: positions of the rows that change; by default all.
        certify: also bound the total variation tightly, by two linear programs per key and row.
        precision: precision of the ``model``, or ``float64`` for a copy of it, in which equal
            outputs agree to about 1e-12, unless the model computes softmax in float32.
        seed: random seed of the directions.
    """

    layer: AtLeast0 = 0
    head: AtLeast0 = 0
    number: AtLeast1 = 1
    kind: Kind | None = None
    method: Literal["random", "farthest"] = "random"
    distance: Annotated[float, Range(above=0, maximum=1)] = 1.0
    queries: tuple[AtLeast0, ...] | None = None
    certify: Annotated[bool, UNLISTED] = False
    precision: Literal["model", "float64"] = "model"
    seed: AtLeast0 = 0


@dataclass(frozen=True, kw_only=True)
class PatchSettings(TargetSettings):
    """Settings of the heads to patch, one at a time, with those of the other text.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        layers: layers whose heads are patched, from 0, such as 0,3-5; by default all.
    """

    kind: Kind | None = None
    layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compare_text is None:
            raise UsageError(
                f"heads are patched with those of another text; say which with "
                f"{setting('compare_text=')}."
            )


@dataclass(frozen=True, kw_only=True)
class GenerationSettings(Settings):
    """Settings of the text to generate.

    Attributes:
        max_new_tokens: tokens to generate at most, each time the most probable one.
        layers: layers to read, from 0, such as 0,3-5; by default all.
        predict: decompose the logit of each generated token into what the tokens before it add.
    """

    max_new_tokens: AtLeast1 = 20
    layers: tuple[int, ...] | None = None
    predict: bool = False


@dataclass(frozen=True, kw_only=True)
class SourceSettings(Settings):
    """Settings of how passages are compared.

    Attributes:
        number: heads that are chosen, those that copy most of hidden facts.
        chosen: names of heads, such as L17H4, in the place of these.
        measures: measures of attention whose shares are compared.
        orders: different orders of the passages over which numbers are averaged, the first as they
            are; all orders, where there are no more.
        masks: random sets of passages in each order, to which a linear model is fitted.
        max_new_tokens: tokens of an answer that the model writes, at most.
        predict: compute direct contributions to the answer.
        needles: hidden facts by which heads are chosen.
        haystack: tokens of each text with a hidden fact.
        seed: random seed of orders and sets.
    """

    number: AtLeast1 = 10
    chosen: tuple[str, ...] | None = None
    measures: tuple[Literal["weight", "norm"], ...] = ("weight",)
    orders: Annotated[AtLeast1, UNLISTED] = 2
    masks: AtLeast0 = 16
    max_new_tokens: AtLeast1 = 20
    predict: bool = True
    needles: Annotated[AtLeast1, UNLISTED] = 12
    haystack: Annotated[AtLeast1, UNLISTED] = 200
    seed: AtLeast0 = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("measures", self.measures)
        require_names_of_heads(self.chosen or ())


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to a model, of one text or of what else its function takes, declared once.

    Attributes:
        name: of the method and of the command.
        sentence: what the command does.
        settings: the class of its settings.
        answered: the module with a function of that name.
        shown: the module with ``sections(answer)`` and ``findings(answer)``, of one text.
        papers: of its method.
        suffixes: of the files that an answer is written as.
        examples: of the command: arguments, and a remark or nothing.
        head: with which head the command loads the model; see `headlight.load`.
        is_command: whether it has a command of its own.
        of_one_text: whether it is asked of one text, or two; else it is a method alone.
    """

    name: str
    sentence: str
    settings: type[Settings]
    answered: str
    shown: str = ""
    papers: str = ""
    suffixes: tuple[str, ...] = (".html", ".json", ".nc")
    examples: Sequence[tuple[str, str]] = ()
    head: str = "none"
    is_command: bool = True
    of_one_text: bool = True

    @property
    def answer(self) -> Callable[..., Any]:
        """The method of a model, which imports torch.

        Of one text it is ``answer(model, text, pair, settings=..., command=...)``.
        """
        function: Callable[..., Any] = getattr(import_module(self.answered), self.name)
        return function

    @property
    def view(self) -> ModuleType:
        """The module with ``sections(answer)`` and ``findings(answer)``."""
        return import_module(self.shown)

    @property
    def signature(self) -> inspect.Signature:
        """The parameters of the method: the texts, and a keyword for each setting."""
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
        """The section ``Args`` of the docstring."""
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
            shown="headlight.views.reading.terminal",
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
            shown="headlight.views.reading.picture",
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
            suffixes=(".html", ".json", ".svg", ".nc"),
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
            answered="headlight.reading.model",
            shown="headlight.views.reading.flow",
            papers="Abnar and Zuidema 2020; Modarressi et al. 2022; Ferrando et al. 2022",
            is_command=False,  # the command flow is the study; `read --flow` writes this
        ),
    )
}
"""By name, in the order of the help."""


@cache
def questions() -> Mapping[str, Question]:
    """Return all rows by name, those of other packages last."""
    return {**QUESTIONS, **rows_of_packages(GROUP, Question, QUESTIONS)}


def find_question(name: str) -> Question | None:
    """Return the question of a name, if there is one.

    Raises:
        UsageError: a distribution has it that is not installed.
    """
    if name in questions():
        return questions()[name]
    for each in DISTRIBUTIONS.values():
        if name in each.questions:
            raise UsageError(each.refusal(name))
    return None
