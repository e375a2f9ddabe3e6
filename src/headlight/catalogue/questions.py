"""The questions of one text: where each is answered and shown.

A row makes the method of `headlight.reading.model.Model`, the command, its files, its page and what
the terminal shows.  Nothing here needs torch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from headlight.catalogue.distributions import DISTRIBUTIONS
from headlight.catalogue.embedded_models import EMBEDDED_DECODER, EMBEDDED_NAME
from headlight.catalogue.question_settings import (
    AlternativeSettings,
    ExplanationSettings,
    GenerationSettings,
    PatchSettings,
    PredictionSettings,
    ReadingSettings,
    RouteSettings,
    SimilaritySettings,
    SourceSettings,
    TextFlowSettings,
)
from headlight.catalogue.registry import QUESTIONS as GROUP, rows_of_packages
from headlight.errors import UsageError
from headlight.settings import Settings

MASK = "[MASK]"
"""Mask of the embedded BERT."""


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
        default_model: Embedded model that the command takes where none is named.
        fills_masks: Whether a text with a mask is read by the embedded BERT, which alone fills it.
        is_command: Whether it has a command of its own.
        command: Module with the command, a function of that name, where the command takes more than
            the texts and settings that commands of questions take.
        of_one_text: Whether it is about one text, or two, and asked with nothing else but settings.
    """

    name: str
    sentence: str
    settings: type[Settings]
    answered: str
    shown: str = ""
    papers: str = ""
    examples: Sequence[tuple[str, str]] = ()
    head: str = "none"
    default_model: str = EMBEDDED_NAME
    fills_masks: bool = False
    is_command: bool = True
    command: str = ""
    of_one_text: bool = True

    @property
    def answer(self) -> Callable[..., Any]:
        """Return the method of a model; this imports torch.

        Of one text it is called as ``answer(model, text, pair, settings=..., command=...)``.
        """
        function: Callable[..., Any] = getattr(import_module(self.answered), self.name)
        return function

    def model_for(self, *texts: object) -> str:
        """Return the embedded model that reads these texts, or chats, where none is named."""
        masked = self.fills_masks and any(MASK in str(text) for text in texts)
        return EMBEDDED_NAME if masked else self.default_model

    @property
    def view(self) -> ModuleType:
        """Return the module with ``sections(answer)`` and ``findings(answer)``."""
        return import_module(self.shown)


QUESTIONS: Mapping[str, Question] = {
    row.name: row
    for row in (
        Question(
            name="read",
            sentence="Read one text, or two, and show the strongest links of its heads.",
            settings=ReadingSettings,
            answered="headlight.reading.readers",
            examples=(
                ('"The cat sat on the mat."', ""),
                ('"The cat sat." "It purred." --measure norm --html cat.html', ""),
                ('"The cat sat." --model gpt2 --json cat.json', ""),
                ('"Das Haus." "The house." --model NAME --kind all', "a translator"),
                ('"The cat sat." --measure attribution', "what input tokens contribute"),
                ('"The cat sat." --html cat.html --routes cat-routes.html', ""),
                ('"The cat sat." --flow cat-flow.html', "what tokens come from"),
                ('"The cat sat." --compare-text "The dog sat." --html both.html', ""),
                ("--audio speech.wav --model openai/whisper-tiny.en", "words × frames"),
                ("-", "standard input"),
                ("--image a.png --model google/vit-base-patch16-224", "patches × patches"),
                ('"What is this?" --image a.png --model llava-hf/llava-1.5-7b-hf', "both"),
                ("--chat chat.json --model HuggingFaceTB/SmolLM2-135M-Instruct", "messages"),
            ),
            command="headlight.cli.read",
        ),
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
                ('"The capital of France is" --target " Paris"', "what comes next"),
                ('"The nurse said" --model gpt2 --compare-text "The guard said"', "two prompts"),
                ('"A fine film." --model NAME --target POSITIVE', "a class"),
            ),
            head="any",
            default_model=EMBEDDED_DECODER,
            fills_masks=True,
        ),
        Question(
            name="generate",
            sentence="Generate text, and read which tokens each generated token attends to.",
            settings=GenerationSettings,
            answered="headlight.reading.generation",
            shown="headlight.views.reading.generated_text",
            papers="Sarti et al. 2023",
            examples=(
                ('"Anna went to the market." --html story.html', ""),
                ('"Das Haus ist groß." --model NAME --max-new-tokens 30', "a translator"),
                ('"The capital of France is" --predict', "what adds to each logit"),
                ("--chat chat.json --model NAME --html answer.html", "the answer to a chat"),
            ),
            head="any",
            default_model=EMBEDDED_DECODER,
        ),
        Question(
            name="patch",
            sentence="Patch each head with that of another text: which carry the difference.",
            settings=PatchSettings,
            answered="headlight.reading.patching",
            shown="headlight.views.reading.patching",
            papers="Vig et al. 2020; Wang et al. 2023",
            examples=(
                ('"The capital of France is" --compare-text "The capital of Germany is"', ""),
                (
                    '"Mary met John; John gave the book to" --compare-text '
                    '"Mary met John; Mary gave the book to" --target " Mary" --against " John"',
                    "two candidates",
                ),
            ),
            head="any",
            default_model=EMBEDDED_DECODER,
            fills_masks=True,
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
                ('"The cat sat." --layer 3 --head 2 --key 2 --against-key 1', "why not there"),
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
        Question(
            name="similarity",
            sentence="Decompose the cosine of two texts into what each pair of words adds.",
            settings=SimilaritySettings,
            answered="headlight.reading.similarity",
            shown="headlight.views.reading.similarity",
            papers="Modarressi et al. 2023",
            examples=(
                (
                    '"Who feeds the cat?" "The feline is fed by Anna."',
                    "the embedded BERT, mean",
                ),
                ('"A query" "A passage" --model sentence-transformers/all-MiniLM-L6-v2', ""),
                ("--pairs pairs.tsv --model NAME --csv table.csv", "a row for each pair"),
            ),
            command="headlight.cli.similarity",
        ),
        Question(
            name="sources",
            sentence="Compare what passages contribute to an answer: attention, contributions, "
            "removal.",
            settings=SourceSettings,
            answered="headlight.reading.sources",
            shown="headlight.views.reading.sources",
            papers="Cohen-Wang et al. 2024; Wu et al. 2024; Chuang et al. 2024",
            examples=(
                (
                    '"Where is the key?" --context "The key is in the shed." --context '
                    '"The door is green."',
                    "the model answers",
                ),
                ('"Who won?" --context a.txt --context b.txt --answer "Ada"', ""),
                ("--chat rag.json --context a.txt --model NAME", "passages of a chat"),
                ("--examples questions.jsonl --model NAME --html used.html", "intervals"),
            ),
            head="any",
            default_model=EMBEDDED_DECODER,
            command="headlight.cli.sources",
            of_one_text=False,
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
    for distribution in DISTRIBUTIONS.values():
        if name in distribution.questions:
            raise UsageError(distribution.refusal(name))
    return None
