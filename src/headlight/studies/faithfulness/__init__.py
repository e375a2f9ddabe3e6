"""The change of a classifier's predictions without the words that a measure calls important."""

from dataclasses import dataclass

from headlight.analysis.settings import RANDOM, Removal, WordImportanceSettings
from headlight.catalogue import Study
from headlight.settings import AtLeast1, require_distinct


@dataclass(frozen=True, kw_only=True)
class FaithfulnessSettings(WordImportanceSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        measures: by what words are ordered: of attention ``weight``, ``norm`` and ``effective``;
            ``attribution``, what input tokens contribute to hidden ones, which is slow;
            ``gradient_input``, the gradient of the probability times the embedding; and
            ``leave_one_out``, what the probability loses without the word. A random order stands
            beside them.
        removals: how words are removed: their pieces become the ``mask`` token, are left out
            (``delete``), or cannot be attended to (``attention``).
        random_orders: random orders of each text, over which the mean is taken.
    """

    removals: tuple[Removal, ...] = ("mask",)
    random_orders: AtLeast1 = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("removals", self.removals)

    @property
    def orders(self) -> tuple[str, ...]:
        """All that words are ordered by, the random order last."""
        return (*self.measures, RANDOM)


STUDY = Study(
    name="faithfulness",
    title="effect of removing important words on predictions",
    question=(
        "how the predictions of a classifier change without the words that each measure calls "
        "important"
    ),
    papers="DeYoung et al. 2020; Serrano and Smith 2019",
    reads="labelled",
    taggers=True,
    settings=FaithfulnessSettings,
    examples=(
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --removals mask,delete,attention", ""),
    ),
    smallest={"bootstrap": 2},
    order=14,
    no_sentence="it removes a fraction of the words at a time, and is not specific to heads",
)
