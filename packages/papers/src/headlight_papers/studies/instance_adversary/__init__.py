"""Adversaries of single texts: the most different attention with nearly the same prediction."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.catalogue import LABELLED, Study
from headlight.errors import UsageError
from headlight.settings import CHOSEN, AtLeast1, Common, Range, require_distinct
from headlight.study_settings.classifiers import Rows, Scope
from headlight_papers.classifiers.settings import KeepSettings

Positive = Annotated[float, Range(above=0)]
Distance = Annotated[float, Range(above=0, maximum=1)]

Exact = Literal["corner", "farthest", "none"]
"""Search for attention with exactly the same output, for comparison."""


@dataclass(frozen=True, kw_only=True)
class InstanceAdversarySettings(KeepSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        by: units of change, each with a search of its own: the attention of ``all`` layers under
            study, of each ``layer``, or of each ``head``.
        rows: rows that are changed: those of ``all`` tokens, of the ``first`` token ([CLS]), or of
            the ``last``.
        epsilon: maximal total variation distance between the predictions.
        margin: total variation distance below which the search does not penalize a change.
        candidates: number of parallel searches; the best one is used.
        steps: maximal number of steps of Adam.
        learning_rate: learning rate of Adam.
        patience: steps without a lower loss before the search in a text stops; ``auto`` for all
            steps.
        take: step whose attention is used: the ``best``, or the ``last``, as in the released code.
        exact: alternatives that leave all outputs unchanged: for each row a ``corner`` found by
            one linear program, the ``farthest`` of several, or ``none``.
        sample: number of texts in the figures (largest weight, divergences).
        keep: write the attention of each text, found and original, into ``kept`` of the run's
            folder.
        max_examples: maximal number of examples.
        batch_tokens: tokens in a batch, padding included; all candidates of its texts run at once.
    """

    by: Common[tuple[Scope, ...]] = ("all",)
    rows: Common[Rows] = "all"
    epsilon: Distance = 0.05
    margin: Distance = 0.01
    candidates: Common[AtLeast1] = 5
    steps: AtLeast1 = 60
    learning_rate: Positive = 0.5
    patience: Annotated[AtLeast1 | None, CHOSEN] = 25
    take: Literal["best", "last"] = "best"
    exact: Common[Exact] = "corner"
    sample: AtLeast1 = 2_000
    max_examples: Common[AtLeast1 | None] = 40
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
    title="most different attention with nearly the same prediction",
    question=(
        "search, text by text, for the most different attention with nearly the same prediction"
    ),
    papers="Jain and Wallace 2019, Section 4.2.2; Brunner et al. 2020, Section 3.3",
    source=LABELLED,
    taggers=True,
    settings=InstanceAdversarySettings,
    examples=(
        ("reviews.tsv --model ./my-classifier", "40 texts"),
        ("reviews.tsv --model ./my-classifier --by layer --rows first", "each layer alone"),
    ),
    smallest={"by": ["all", "layer", "head"], "steps": 2},
    order=16,
)
