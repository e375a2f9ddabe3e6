"""Settings that papers share, and names in the folder of a reproduction; without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from headlight.catalogue.embedded_models import EMBEDDED_NAME
from headlight.corpora import SAMPLE_TEXT
from headlight.settings import NO_EFFECT, AtLeast1, Common, Range, Settings

SegmentIds = Literal["pair", "zeros"]


@dataclass(frozen=True, kw_only=True)
class PaperSettings(Settings):
    """Everything that the results of a paper depend on besides models and data.

    Class variables say what the paper takes: `title` of the page; `reads`, fields of
    `headlight_papers.papers.sources.Sources`; `models`, options that name models, and none for a
    paper that trains its own; `head`, with which the model is loaded, see `headlight.load`;
    `embedded`, the model that is loaded where none is named, and `sample`, the text that is read
    then.

    Attributes:
        seed: random seed.
    """

    title: ClassVar[str]
    reads: ClassVar[tuple[str, ...]]
    models: ClassVar[tuple[str, ...]] = ()
    head: ClassVar[str] = "none"
    embedded: ClassVar[str] = EMBEDDED_NAME
    sample: ClassVar[Path] = SAMPLE_TEXT

    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class TextPaperSettings(PaperSettings):
    """Settings of a paper that examines a model which reads text.

    Attributes:
        max_examples: segments of text, at most.
        max_length: tokens in a segment of text, special ones included.
        segment_ids: segment ids of pairs of paragraphs: ``zeros``, as in the released maps of Clark
            et al., or ``pair``, as in the code of Kobayashi et al. and in BERT's training.
    """

    models: ClassVar[tuple[str, ...]] = ("model",)

    max_examples: Common[AtLeast1] = 992
    max_length: Common[Annotated[int, Range(minimum=8)]] = 128
    segment_ids: SegmentIds = "pair"


@dataclass(frozen=True, kw_only=True)
class TrainingPaperSettings(PaperSettings):
    """Settings of a paper that trains models of its own.

    Attributes:
        epochs: epochs of training.
        selection: split on which the best epoch is selected: ``dev``, or ``test``, as in the
            released code.
        processes: models trained in parallel; by default the number of cores.
        max_texts: texts of each part of a labelled set, drawn.
        max_words: longest labelled text, in words; longer ones are left out, besides those that the
            papers leave out.
    """

    epochs: AtLeast1 = 12
    selection: Literal["dev", "test"] = "dev"
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None
    max_texts: AtLeast1 | None = 1500
    max_words: AtLeast1 | None = 120


@dataclass(frozen=True, kw_only=True)
class AdversaryPaperSettings(TrainingPaperSettings):
    """Settings of a paper that trains adversaries, which predict as their base does.

    Attributes:
        lambdas: weights λ of the distance in attention: λ times the mean KL of a row is subtracted
            from the loss; 0 is always among them.
        repeats: models that differ in their seeds only.
        predictions: distance between the predictions of adversary and base: cross-entropy to the
            base's ``labels``, or total variation, ``tvd``.
        distance: distance between the attention of adversary and base, which is maximized: ``kl``,
            as in the papers, or ``jsd``, which is bounded.
    """

    lambdas: tuple[Annotated[float, Range(minimum=0)], ...] = (0.0,)
    repeats: AtLeast1 = 3
    predictions: Literal["labels", "tvd"] = "labels"
    distance: Literal["kl", "jsd"] = "kl"


RESULTS = "results"
"""Every result that exhibits are made of, a file each."""

RUNS = "runs"
"""Folder of unfinished work, removed at the end of the reproduction."""


PAGE = "index.html"
"""All exhibits."""
