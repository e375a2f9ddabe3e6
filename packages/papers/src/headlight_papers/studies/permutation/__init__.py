"""The effect of permuted, uniform or concentrated attention on a classifier's predictions."""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue import LABELLED, Study
from headlight.settings import AtLeast1, Common, require_distinct
from headlight.study_settings.classifiers import Rows, Scope
from headlight_papers.classifiers.settings import KeepSettings

Change = Literal["permuted", "uniform", "largest", "random"]
"""Replacement of attention; see `headlight_papers.classifiers.attention_changes`."""

CHANGES: tuple[Change, ...] = ("permuted", "uniform", "largest", "random")


@dataclass(frozen=True, kw_only=True)
class PermutationSettings(KeepSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        changes: replacements of attention: the weights ``permuted`` over the keys that a query
            sees; ``uniform`` weights; all weight on the key with the ``largest`` weight, or on a
            ``random`` key.
        by: units of replacement: the attention of ``all`` layers under study, of each ``layer``,
            or of each ``head``, with the passes of ``layer`` for each head of a layer.
        rows: rows that are replaced: those of ``all`` tokens, of the ``first`` token ([CLS]), or of
            the ``last``.
        keep_special: leave the weights of special tokens ([CLS], [SEP]) unchanged.
        shuffles: number of permutations of each text; the median of their effects is reported.
        sample: number of texts in the figures (largest weight, change).
        keep: write the random draws of each text, and the predictions after each, into ``kept`` of
            the run's folder.
    """

    changes: Common[tuple[Change, ...]] = CHANGES
    by: Common[tuple[Scope, ...]] = ("all", "layer")
    rows: Common[Rows] = "all"
    keep_special: bool = False
    shuffles: AtLeast1 = 10
    sample: AtLeast1 = 2_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("changes", "by"):
            require_distinct(name, getattr(self, name))


STUDY = Study(
    name="permutation",
    title="effect of permuted or uniform attention on predictions",
    question=(
        "measure how the predictions of a classifier change when its attention is permuted, "
        "uniform, or on one token"
    ),
    papers="Jain and Wallace 2019, Section 4.2.1; Wiegreffe and Pinter 2019, Section 3.1",
    source=LABELLED,
    taggers=True,
    settings=PermutationSettings,
    examples=(
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --by head --changes uniform", "each head alone"),
        ("chunks.txt --model ./my-tagger --keep-special", "words and tags in columns"),
    ),
    smallest={"by": ["all", "layer", "head"], "shuffles": 2, "sample": 5},
    order=13,
)
