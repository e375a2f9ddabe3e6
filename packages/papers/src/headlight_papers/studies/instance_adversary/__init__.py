"""Adversaries of single texts: the most different attention with the same prediction."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis import KeepSettings, Rows, Scope
from headlight.catalogue import Study
from headlight.errors import UsageError
from headlight.settings import CHOSEN, UNLISTED, AtLeast1, Range, require_distinct

Positive = Annotated[float, Range(above=0)]
Distance = Annotated[float, Range(above=0, maximum=1)]

Exact = Literal["corner", "farthest", "none"]
"""Which attention of exactly the same output stands beside."""


@dataclass(frozen=True, kw_only=True)
class InstanceAdversarySettings(KeepSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        by: whose attention is changed at once: of ``all`` layers that are looked at, of each
            ``layer``, of each ``head``. Each of them is a search of its own.
        rows: whose rows are changed: of ``all`` tokens, of the ``first`` token ([CLS]) or of the
            ``last``.
        epsilon: the total variation distance by which a prediction may move.
        margin: by which it may move during the search before that costs anything.
        candidates: how many are looked for at once, of which the best counts.
        steps: of Adam, at most.
        learning_rate: its step size.
        patience: a text is done when its loss has not fallen for this many steps; ``auto`` for all
            steps.
        take: the ``best`` attention of all steps, or that of the ``last``, as in the released code.
        exact: beside it, attention of which no output changes at all: for each row a ``corner``
            that one linear program finds, the ``farthest`` that several find, or ``none``.
        sample: texts (largest weight, divergences) that are kept for pictures.
        keep: write the attention that was found for each text, and the model's own, into ``kept``
            of the run's folder.
        max_examples: stop after this many.
        batch_tokens: tokens in a batch, padding included; all candidates of them run at once.
    """

    by: tuple[Scope, ...] = ("all",)
    rows: Rows = "all"
    epsilon: Annotated[Distance, UNLISTED] = 0.05
    margin: Annotated[Distance, UNLISTED] = 0.01
    candidates: AtLeast1 = 5
    steps: AtLeast1 = 60
    learning_rate: Annotated[Positive, UNLISTED] = 0.5
    patience: Annotated[AtLeast1 | None, CHOSEN, UNLISTED] = 25
    take: Annotated[Literal["best", "last"], UNLISTED] = "best"
    exact: Exact = "corner"
    sample: AtLeast1 = 2_000
    max_examples: AtLeast1 | None = 40
    batch_tokens: AtLeast1 = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("by", self.by)
        if self.margin > self.epsilon:
            raise UsageError(
                f"the margin is {self.margin:g} and epsilon {self.epsilon:g}; give a margin that "
                "is not larger."
            )


STUDY = Study(
    name="instance_adversary",
    title="how different attention can be while the prediction stays",
    question=(
        "how different attention can be, text by text, while a prediction stays nearly what it is"
    ),
    papers="Jain and Wallace 2019, Section 4.2.2; Brunner et al. 2020, Section 3.3",
    reads="labelled",
    taggers=True,
    settings=InstanceAdversarySettings,
    examples=(
        ("reviews.tsv --model ./my-classifier", "40 texts"),
        ("reviews.tsv --model ./my-classifier --by layer --rows first", "each layer alone"),
    ),
    smallest={"by": ["all", "layer", "head"], "steps": 2},
    order=16,
    no_sentence=(
        "the other weights of a text are found by a search; `what_if` reads a text with other "
        "weights"
    ),
)
