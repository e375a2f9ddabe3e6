"""Circuits of heads: copying, induction, retrieval."""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue import HAYSTACK, Study
from headlight.settings import AtLeast0, AtLeast1, Common, require_distinct
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import Kind

Part = Literal["copying", "matching", "composition", "repeated", "needle"]
"""Part of the study: three scores of weights of heads, and behaviour on two kinds of texts."""

OF_WEIGHTS = ("copying", "matching", "composition")
OF_TEXTS = ("repeated", "needle")

OfAttention = Literal["weight", "norm", "effective"]


@dataclass(frozen=True, kw_only=True)
class CircuitsSettings(ModelSettings):
    """Everything that the result depends on besides model and haystack.

    Attributes:
        kind: kind of attention; by default that of the encoder, where the model has one.
        parts: parts of the study: scores of the weights of heads (``copying``, ``matching``,
            ``composition``), attention on repeated random tokens (``repeated``), and attention to
            facts hidden in other text (``needle``). By default all that the model allows;
            ``copying`` and ``needle`` need a language-model head.
        measures: measures of attention on texts.
        sequences: number of sequences of random tokens.
        tokens: number of random tokens of a sequence, before they are repeated.
        needles: number of hidden facts, each in a text of its own.
        haystack: number of tokens of each text with a hidden fact.
        format: format of the corpus that fills the haystack; by default inferred from suffix or
            content.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        seed: random seed of the tokens.
    """

    kind: Common[Kind | None] = None
    parts: tuple[Part, ...] | None = None
    measures: Common[tuple[OfAttention, ...]] = ("weight", "norm")
    sequences: AtLeast1 = 8
    tokens: AtLeast1 = 100
    needles: AtLeast1 = 12
    haystack: AtLeast1 = 400
    format: Common[str | None] = None
    column: Common[str | None] = None
    seed: AtLeast0 = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("measures", self.measures)
        if self.parts is not None:
            require_distinct("parts", self.parts)

    @property
    def required_head(self) -> str | None:
        """Return the head of a language model, for its unembedding and its predictions."""
        needs = self.parts is None or {"copying", "needle"} & {*self.parts}
        return "language_model" if needs else super().required_head

    def check_source(self, source: str | None) -> None:
        """Read the first text, so that a faulty corpus is refused at once."""
        if source is not None:
            from headlight.corpora import open_corpus

            next(iter(open_corpus(source, format=self.format, column=self.column)))


STUDY = Study(
    name="circuits",
    title="circuits of heads, by their weights and by attention on repeats and hidden facts",
    question="find heads that copy, complete repeated patterns, and retrieve facts",
    papers="Elhage et al. 2021; Olsson et al. 2022; Wu et al. 2024",
    source=HAYSTACK,
    settings=CircuitsSettings,
    examples=(
        ("--model HuggingFaceTB/SmolLM2-135M-Instruct", "haystacks are cut from the sample corpus"),
        ("--model gpt2 --parts repeated --measures weight,norm,effective", "induction heads"),
        ("wiki/ --model gpt2 --parts needle --haystack 900", "retrieval heads"),
        ("--parts matching,composition", "weights alone, also of encoders"),
    ),
    smallest={"sequences": 2, "tokens": 6, "needles": 2, "haystack": 12},
    order=7,
    on_shards=False,
)
