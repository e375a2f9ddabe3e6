"""Models with the predictions of a classifier and other attention."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis import ClassifierSettings
from headlight.catalogue import EMBEDDED_CLASSIFIER, Study
from headlight.errors import UsageError
from headlight.settings import NO_EFFECT, UNLISTED, AtLeast0, AtLeast1, Range, require_distinct

Rows = Literal["all", "first", "last"]
"""Whose rows: of every token, of the first one ([CLS]), of the last one."""

LAMBDAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True, kw_only=True)
class AdversarySettings(ClassifierSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        start: where students begin: name or folder of the checkpoint before fine-tuning, whose head
            is then random; ``scratch``, random weights; or ``base``, the weights of the model
            itself. It has to be named, but for the embedded classifier, of which it is ``base``.
        held_out: other texts, on which everything is measured; by default a fifth of the source,
            drawn with the seed.
        heads: which heads of these layers; by default all.
        rows: whose attention counts: that of ``all`` tokens, of the ``first`` token ([CLS]) or of
            the ``last``.
        keep_special: special tokens ([CLS], [SEP]) do not count as keys; the rest of a row is
            divided by its sum.
        predictions: what keeps predictions near the model's: cross-entropy to its ``labels``, or
            total variation (``tvd``).
        distance: what keeps attention away from the model's: ``kl``, KL(student ‖ model), or
            ``jsd``, which is bounded.
        lambdas: the weights of that distance, a mean over rows and heads; 0 is always among them.
        repeats: students of each λ, which differ in their seed; as many are trained on the gold
            labels.
        epochs: passes over the training texts.
        learning_rate: of AdamW at its highest, after a tenth of the steps; then it falls to 0.
        batch_size: texts in a step.
        processes: students that are trained at a time, each in one thread; by default as many as
            there are cores, on an accelerator one. Each holds the model twice.
        instances: the folder of a run of headlight instance-adversary on the same model, whose
            texts are shown beside the students.
        keep_models: save every student in ``models`` of the run's folder, for other studies.
    """

    start: str | None = None
    held_out: str | None = None
    heads: tuple[AtLeast0, ...] | None = None
    rows: Rows = "all"
    keep_special: bool = False
    predictions: Literal["labels", "tvd"] = "labels"
    distance: Literal["kl", "jsd"] = "kl"
    lambdas: tuple[Annotated[float, Range(minimum=0)], ...] = LAMBDAS
    repeats: AtLeast1 = 3
    epochs: AtLeast1 = 3
    learning_rate: Annotated[float, Range(above=0)] = 5e-5
    batch_size: Annotated[AtLeast1, UNLISTED] = 32
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None
    instances: str | None = None
    keep_models: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None:
            require_distinct("heads", self.heads)

    def start_for(self, name: str) -> str:
        """Return the start of a model's students: the embedded classifier's begin with its weights.

        Raises:
            UsageError: nobody has said where those of another model begin.
        """
        if self.start is not None:
            return self.start
        if name == EMBEDDED_CLASSIFIER:
            return "base"
        raise UsageError(
            "students need a start, which decides how far they can go: the name or folder of the "
            "checkpoint before fine-tuning, scratch for random weights, or base for those of the "
            "model itself (start=, --start)."
        )

    @property
    def weights(self) -> list[float]:
        """λ in order, each once, and 0 among them."""
        return sorted({0.0, *self.lambdas})


STUDY = Study(
    name="adversary",
    title="models with the same predictions and other attention",
    question="train models that predict as a classifier does, and attend otherwise",
    papers="Wiegreffe and Pinter 2019, Section 4; Yang, Section 4.2",
    reads="labelled",
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
    no_sentence="it compares other models by their predictions over a whole corpus",
)
