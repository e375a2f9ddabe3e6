"""Models of single words that are given the attention of others, frozen."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis import KeepSettings, RowsOfText, check_attribution
from headlight.catalogue import Study
from headlight.settings import NO_EFFECT, UNLISTED, AtLeast1, Range, require_distinct
from headlight.settings.flow import AttributionSettings

GuideMeasure = Literal["weight", "norm", "effective", "attribution", "gradient_input"]
"""Of a model that reads the text, what a guide can be made of."""


@dataclass(frozen=True, kw_only=True)
class GuidedSettings(KeepSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        measures: what of the model is given: of attention ``weight``, ``norm`` and ``effective``;
            ``attribution``, what input tokens contribute to hidden ones, which is slow; and
            ``gradient_input``, the gradient of the probability times the embedding. Uniform and
            random attention, and one that is learnt, stand beside them; of a tagger, whose words
            are given a row each, in the place of the last that of each word to itself.
        rows: which rows of attention speak for the text: the ``mean`` of all, that of the ``first``
            token ([CLS]), or of the ``last``.
        attribution: how contributions are computed, if they are among the measures.
        also: further classifiers with the same tokenizer, whose weights are given: names or
            folders, such as the students that `headlight adversary` has kept.
        held_out: other texts, on which everything is measured; by default a fifth of the source,
            drawn with the seed.
        width: of the vectors of tokens.
        repeats: models of each guide, which differ in their seed.
        epochs: passes over the training texts.
        learning_rate: of Adam at its highest, after a tenth of the steps; then it falls to 0.
        keep: write the models, what each text was given and the predictions into ``kept`` of the
            run's folder.
        processes: models that are trained at a time, each in one thread; by default as many as
            there are cores.
    """

    measures: tuple[GuideMeasure, ...] = ("weight", "norm", "effective", "gradient_input")
    rows: RowsOfText = "mean"
    attribution: AttributionSettings | None = None
    also: tuple[str, ...] = ()
    held_out: str | None = None
    width: Annotated[AtLeast1, UNLISTED] = 128
    repeats: AtLeast1 = 3
    epochs: AtLeast1 = 10
    learning_rate: Annotated[float, Range(above=0)] = 1e-3
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("measures", self.measures)
        if self.also:
            require_distinct("also", self.also)

    def check_command(self) -> None:
        """Contributions are not told how to be computed where nobody asks for them."""
        super().check_command()
        check_attribution(self.attribution, self.measures)

    def guides(self, *, tagger: bool) -> tuple[str, ...]:
        """Return the names of the sources of attention."""
        control = "itself" if tagger else "own"
        return ("uniform", "random", control, *self.measures, *map(of_model, self.also))


def of_model(name: str) -> str:
    """The guide that is made of the weights of another model."""
    return f"weight of {name}"


STUDY = Study(
    name="guided",
    title="attention given to models without context",
    question="give the attention of a classifier to models that look at every token alone",
    papers="Wiegreffe and Pinter 2019, Section 3.4",
    reads="labelled",
    settings=GuidedSettings,
    examples=(
        ("reviews.tsv --model ./my-classifier", ""),
        ("reviews.tsv --model ./my-classifier --also run/models/adversary-0-1.0", ""),
        ("chunks.txt --model ./my-tagger", "each word by its row of attention"),
    ),
    smallest={"repeats": 1, "epochs": 1, "processes": 1},
    order=18,
    on_shards=False,
    no_sentence="it compares models without context by their predictions over a whole corpus",
)
