"""Models with the predictions of a classifier and other attention."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.catalogue import EMBEDDED_CLASSIFIER, LABELLED, Study
from headlight.catalogue.embedded_models import place_of
from headlight.catalogue.model_checks import check_place
from headlight.errors import UsageError, setting
from headlight.settings import NO_EFFECT, AtLeast1, Common, Heads, Range, require_distinct
from headlight.study_settings.classifiers import ClassifierSettings, check_files

Rows = Literal["all", "first", "last"]
"""Rows of attention: those of all tokens, of the first one ([CLS]), or of the last one."""

STARTS = ("scratch", "base")
"""Initial weights of students other than those of a checkpoint."""

LAMBDAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, kw_only=True)
class AdversarySettings(ClassifierSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        start: initial weights of students: name or folder of the checkpoint before fine-tuning,
            with a random head; ``scratch``, random weights; or ``base``, the weights of the model
            itself. Required, except for the embedded classifier, where it is ``base``.
        held_out: held-out texts for evaluation; by default a random fifth of the source.
        heads: heads of the observed layers; by default all.
        rows: rows of attention in the distance: those of ``all`` tokens, of the ``first`` token
            ([CLS]), or of the ``last``.
        keep_special: exclude special tokens ([CLS], [SEP]) as keys, and renormalize rows.
        predictions: distance between the predictions of student and model: cross-entropy with the
            ``labels`` of the model, or total variation distance (``tvd``).
        distance: distance between the attention of student and model, which is maximized: ``kl``,
            KL(student ‖ model), or ``jsd``, which is bounded.
        lambdas: weights λ of the distance between attention, a mean over rows and heads; 0 is
            always included.
        repeats: number of students for each λ, which differ in their seeds only; the same number is
            trained on the gold labels.
        epochs: epochs of training.
        learning_rate: peak learning rate of AdamW, after linear warm-up over a tenth of the steps
            and before linear decay to 0.
        batch_size: texts in a training step.
        processes: number of students trained in parallel, each in one thread and with two copies
            of the model; by default the number of cores, and 1 on an accelerator.
        keep_models: save every student in ``models`` of the run's folder, for other studies.
    """

    start: Common[str | None] = None
    held_out: Common[str | None] = None
    heads: Common[Heads | None] = None
    rows: Common[Rows] = "all"
    keep_special: bool = False
    predictions: Literal["labels", "tvd"] = "labels"
    distance: Literal["kl", "jsd"] = "kl"
    lambdas: Common[tuple[Annotated[float, Range(minimum=0)], ...]] = LAMBDAS
    repeats: AtLeast1 = 3
    epochs: AtLeast1 = 3
    learning_rate: Annotated[float, Range(above=0)] = 5e-5
    batch_size: AtLeast1 = 32
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None
    keep_models: Common[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None:
            require_distinct("heads", self.heads)

    def check_other_files(self) -> None:
        """Check that held-out texts and the initial checkpoint are there."""
        super().check_other_files()
        if self.held_out is not None:
            check_files(self.held_out)
        if self.start not in (None, *STARTS):
            check_place(place_of(self.start))

    def start_for(self, name: str) -> str:
        """Return the start of a model's students: the embedded classifier's begin with its weights.

        Raises:
            UsageError: The start is not given, and the model is another.
        """
        if self.start is not None:
            return self.start
        if name == EMBEDDED_CLASSIFIER:
            return "base"
        raise UsageError(
            "students need a start, which decides how far they can go: the name or folder of the "
            "checkpoint before fine-tuning, scratch for random weights, or base for those of the "
            f"model itself ({setting('start=')})."
        )

    @property
    def weights(self) -> list[float]:
        """Return all λ in order, each once, and 0 among them."""
        return sorted({0.0, *self.lambdas})


STUDY = Study(
    name="adversary",
    title="models with the same predictions and other attention",
    question="train models that predict as a classifier does and attend differently",
    papers="Wiegreffe and Pinter 2019, Section 4; Yang, Section 4.2",
    source=LABELLED,
    taggers=True,
    settings=AdversarySettings,
    examples=(
        ("reviews.tsv --model ./my-classifier --start bert-base-uncased", ""),
        ("reviews.tsv --model ./my-classifier --start base --layers 11", "one layer, from itself"),
        ("chunks.txt --model ./my-tagger --start scratch --lambdas 0.01,0.1", ""),
    ),
    smallest={"start": "base", "lambdas": [0.1], "repeats": 1, "epochs": 1, "processes": 1},
    order=17,
    on_shards=False,
)
