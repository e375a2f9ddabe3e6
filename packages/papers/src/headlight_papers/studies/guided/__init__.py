"""Models without context that are trained with the frozen attention of a classifier."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.catalogue import LABELLED, Study
from headlight.catalogue.embedded_models import place_of
from headlight.catalogue.model_checks import check_place
from headlight.settings import NO_EFFECT, AtLeast1, Common, Range, require_distinct
from headlight.settings.attribution import AttributionSettings
from headlight.study_settings.classifiers import RowsOfText, check_files
from headlight.study_settings.measures import check_attribution
from headlight_papers.classifiers.settings import KeepSettings

GuideMeasure = Literal["weight", "norm", "effective", "attribution", "gradient_input"]
"""Measure of a classifier that can guide a model without context."""


@dataclass(frozen=True, kw_only=True)
class GuidedSettings(KeepSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        measures: measures of the classifier that guide a model: ``weight``, ``norm`` and
            ``effective`` of attention; ``attribution``, contributions of input tokens to hidden
            ones (slow); and ``gradient_input``, the gradient of the probability times the
            embedding. Uniform, random and learned attention are always included; for a tagger,
            attention of each word to itself instead of learned attention.
        rows: rows of attention that represent the text: the ``mean`` of all, that of the ``first``
            token ([CLS]), or that of the ``last``.
        attribution: computation of contributions, if they are among the measures.
        also: further classifiers with the same tokenizer, whose weights are guides as well: names
            or folders, such as those of students kept by headlight adversary.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        width: dimension of the token vectors.
        repeats: number of models for each guide, which differ in their seeds only.
        epochs: epochs of training.
        learning_rate: peak learning rate of Adam, after linear warm-up over a tenth of the steps
            and before linear decay to 0.
        keep: write models, the attention of each text and predictions into ``kept`` of the run's
            folder.
        processes: number of models trained in parallel, each in one thread; by default the number
            of cores.
    """

    measures: Common[tuple[GuideMeasure, ...]] = (
        "weight",
        "norm",
        "effective",
        "gradient_input",
    )
    rows: Common[RowsOfText] = "mean"
    attribution: AttributionSettings | None = None
    also: Common[tuple[str, ...]] = ()
    held_out: Common[str | None] = None
    width: AtLeast1 = 128
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
        """Refuse settings of contributions where these are not requested."""
        super().check_command()
        check_attribution(self.attribution, self.measures)

    def check_other_files(self) -> None:
        """Check that held-out texts and further models are there."""
        super().check_other_files()
        if self.held_out is not None:
            check_files(self.held_out)
        for name in self.also:
            check_place(place_of(name))

    def guides(self, *, tagger: bool) -> tuple[str, ...]:
        """Return the names of the sources of attention."""
        control = "itself" if tagger else "own"
        return ("uniform", "random", control, *self.measures, *map(guide_of_model, self.also))


def guide_of_model(name: str) -> str:
    """Return the name of the guide made of the weights of another model."""
    return f"weight of {name}"


STUDY = Study(
    name="guided",
    title="attention given to models without context",
    question="train models that read every token by itself with the attention of a classifier",
    papers="Wiegreffe and Pinter 2019, Section 3.4",
    source=LABELLED,
    settings=GuidedSettings,
    examples=(
        ("reviews.tsv --model ./my-classifier", ""),
        ("reviews.tsv --model ./my-classifier --also run/models/adversary-0-1.0", ""),
        ("chunks.txt --model ./my-tagger", "each word by its row of attention"),
    ),
    smallest={"repeats": 1, "epochs": 1, "processes": 1},
    order=18,
    on_shards=False,
)
