"""Circuits of heads: copying, induction, retrieval."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from headlight.analysis import ModelSettings
from headlight.catalogue import HAYSTACK, Study
from headlight.settings import UNLISTED, AtLeast0, AtLeast1, require_distinct
from headlight.vocabulary import Kind

Part = Literal["copying", "matching", "composition", "repeated", "needle"]
"""Part of the study: three scores of weights of heads, and what they do on two kinds of texts."""

OF_WEIGHTS = ("copying", "matching", "composition")
OF_TEXTS = ("repeated", "needle")

OfAttention = Literal["weight", "norm", "effective"]


@dataclass(frozen=True, kw_only=True)
class CircuitsSettings(ModelSettings):
    """Everything that the result depends on besides model and haystack.

    Attributes:
        kind: kind of attention; by default that of the encoder, where the model has one.
        parts: parts of the study: of weights ``copying``, ``matching`` and ``composition``; on
            repeated random tokens ``repeated``; on facts hidden in other text ``needle``. By
            default all that the model allows. ``copying`` and ``needle`` need a language-model
            head.
        measures: measures of attention on texts.
        sequences: sequences of random tokens.
        tokens: random tokens of a sequence, before they are repeated.
        needles: hidden facts, each in a text of its own.
        haystack: tokens of each text with a hidden fact.
        format: format of the corpus that fills the haystack; by default inferred from suffix or
            content.
        column: key or column that holds the text; by default ``text``, or the only one.
        seed: random seed of the tokens.
    """

    kind: Kind | None = None
    parts: tuple[Part, ...] | None = None
    measures: tuple[OfAttention, ...] = ("weight", "norm")
    sequences: Annotated[AtLeast1, UNLISTED] = 8
    tokens: Annotated[AtLeast1, UNLISTED] = 100
    needles: Annotated[AtLeast1, UNLISTED] = 12
    haystack: Annotated[AtLeast1, UNLISTED] = 400
    format: str | None = None
    column: str | None = None
    seed: AtLeast0 = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("measures", self.measures)
        if self.parts is not None:
            require_distinct("parts", self.parts)

    @property
    def required_head(self) -> str:
        """Return the head of a language model, for its unembedding and its predictions."""
        needs = self.parts is None or {"copying", "needle"} & {*self.parts}
        return "language_model" if needs else super().required_head

    def check_source(self, source: str | None) -> None:
        """The first text is read."""
        if source is not None:
            from headlight.corpora import open_corpus

            next(iter(open_corpus(source, format=self.format, column=self.column)))


STUDY = Study(
    name="circuits",
    title="what heads do on random repeats and hidden facts, and what their weights say",
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
    no_sentence="it reads random tokens, and facts of its own, which stand in a table",
)


class Fact(NamedTuple):
    """A fact, and how it is asked for.

    Attributes:
        beginning: of its sentence, with which the answer begins, too.
        needle: the rest, which the model has to find.
        question: that asks for it.
    """

    beginning: str
    needle: str
    question: str


FACTS = (
    Fact(
        "The key to the boathouse hangs",
        "behind the red clock in the kitchen.",
        "Where does the key to the boathouse hang?",
    ),
    Fact(
        "The secret ingredient of Aunt Odile's soup is",
        "a spoonful of smoked honey.",
        "What is the secret ingredient of Aunt Odile's soup?",
    ),
    Fact(
        "Every Thursday the baker of Hollin gives away",
        "forty sesame rolls at noon.",
        "What does the baker of Hollin give away every Thursday?",
    ),
    Fact(
        "The best way to calm the donkey Bertrand is",
        "to hum a slow waltz and offer him three pears.",
        "What is the best way to calm the donkey Bertrand?",
    ),
    Fact(
        "The password of the lighthouse keeper is",
        "seven silver herrings under a wooden moon.",
        "What is the password of the lighthouse keeper?",
    ),
    Fact(
        "On rainy evenings the orchestra of Varnholm rehearses",
        "in the empty swimming pool below the town hall.",
        "Where does the orchestra of Varnholm rehearse on rainy evenings?",
    ),
    Fact(
        "The ferryman of Osterby keeps his spare lantern",
        "inside a hollow pumpkin near the pier.",
        "Where does the ferryman of Osterby keep his spare lantern?",
    ),
    Fact(
        "The winner of the cheese race in Dunmarrow received",
        "a purple umbrella and two geese.",
        "What did the winner of the cheese race in Dunmarrow receive?",
    ),
    Fact(
        "The favourite food of the parrot Wilhelmina is",
        "cold porridge with green olives.",
        "What is the favourite food of the parrot Wilhelmina?",
    ),
    Fact(
        "The treasure of Captain Ferrow is buried",
        "under the third birch behind the windmill.",
        "Where is the treasure of Captain Ferrow buried?",
    ),
    Fact(
        "The best present for the postmistress of Elding is",
        "a jar of yellow buttons and a blue kite.",
        "What is the best present for the postmistress of Elding?",
    ),
    Fact(
        "The clockmaker of Brennick repairs his watches with",
        "fish bones and a drop of maple syrup.",
        "What does the clockmaker of Brennick repair his watches with?",
    ),
)
