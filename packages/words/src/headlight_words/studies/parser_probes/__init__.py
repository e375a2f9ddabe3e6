"""Probes that parse from attention (Clark et al. 2019, Section 5)."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from headlight.catalogue import Study
from headlight.errors import UsageError
from headlight.settings import (
    NO_EFFECT,
    AtLeast1,
    Common,
    Names,
    Range,
    Settings,
    choices,
    require_choice,
)
from headlight.vocabulary import MEASURES
from headlight_words.settings import SentenceSettings
from headlight_words.sources import TREEBANK

Probe = Literal[
    "right_branching",
    "distances_and_words",
    "random_attention_and_words",
    "attention",
    "attention_and_words",
]
"""Row of Clark et al. (2019), Table 3, except the structural probe."""

PROBES: tuple[Probe, ...] = choices(Probe)

BASELINES = PROBES[:2]
"""Probes that see no attention."""

RANDOM = PROBES[2]
"""Probe that sees the attention of the random control."""

NO_MEASURE = ""

Alignment = Literal["fixed", "as_released"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """Settings of the training of a probe.

    Attributes:
        learning_rate: learning rate of Adam; the other parameters are β = 0.9 and 0.999, ε = 10⁻⁸.
        sentences: sentences in a training step.
        epochs: maximal number of epochs.
        patience: epochs without a lower loss on the held-out sentences before training stops.
        held_out: share of held-out training sentences; 0 trains for all epochs and keeps the last
            weights.
        shuffle: shuffle sentences every epoch, similar lengths together; otherwise keep the order
            of the corpus.
    """

    learning_rate: Annotated[float, Range(above=0)] = 0.002
    sentences: AtLeast1 = 16
    epochs: AtLeast1 = 40
    patience: AtLeast1 = 3
    held_out: Annotated[float, Range(minimum=0, below=1)] = 0.1
    shuffle: bool = True


AS_RELEASED = TrainingSettings(sentences=1, epochs=1, held_out=0.0, shuffle=False)
"""The authors' code: one epoch, one sentence at a time, in the order of the corpus."""


@dataclass(frozen=True, kw_only=True)
class ParserProbeSettings(SentenceSettings):
    """Settings of a table of probes: all that it depends on besides model and treebank.

    Attributes:
        train: training treebank; by default every tenth sentence of the source is for the test, and
            the rest for training.
        word_vectors: file of word vectors; by default the input embeddings of the model.
        max_examples: maximal number of sentences of each treebank.
        probes: probes to train.
        measures: measures of attention that the probes read, with a row of the table for each.
        training: training of the probes.
        seeds: random seeds; every probe is trained with each seed, and scores are pooled.
        align_root: word vector of a candidate: its own (``fixed``), or that of the word after it,
            as in the authors' code (``as_released``).
        bias: train a weight for each head that does not depend on words, as in the authors' code.
        processes: number of probes trained in parallel, each in one thread; by default the number
            of cores, and 1 for a model on an accelerator. Results do not depend on it.
    """

    train: Common[str | None] = None
    word_vectors: Common[str | None] = None
    max_examples: Common[AtLeast1 | None] = None
    probes: Common[tuple[Probe, ...]] = PROBES
    measures: Common[Annotated[tuple[str, ...], Names(lambda: MEASURES)]] = MEASURES
    training: TrainingSettings = field(default_factory=TrainingSettings)
    seeds: tuple[int, ...] = (0,)
    align_root: Alignment = "fixed"
    bias: bool = True
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for measure in self.measures:
            require_choice("measure for probes", measure, MEASURES)
        if not self.probes or not self.seeds:
            raise UsageError("name at least one probe and one seed.")
        if not self.measures and not set(self.probes) <= set(BASELINES):
            raise UsageError("probes of attention need at least one measure.")

    def check_other_files(self) -> None:
        """Read the first training sentence, and refuse word vectors that are missing."""
        from headlight.corpora.source_changes import source_state
        from headlight_words.corpora import open_treebank

        if self.train:
            next(iter(open_treebank(self.train)))
        if self.word_vectors:
            source_state(self.word_vectors)

    @property
    def sentence_settings(self) -> SentenceSettings:
        """Return the settings that the word maps depend on."""
        names = SentenceSettings.hints()
        return SentenceSettings(**{name: getattr(self, name) for name in names})

    def rows(self) -> list[tuple[Probe, str]]:
        """Return probe and measure of each row, in the order of `PROBES`, baselines without one."""
        return [
            (probe, measure)
            for probe in PROBES
            if probe in self.probes
            for measure in ((NO_MEASURE,) if probe in BASELINES else self.measures)
        ]


STUDY = Study(
    name="parser_probes",
    title="probes that parse from attention",
    question="train probes that parse from the attention of all heads",
    papers="Clark et al. 2019, Section 5",
    source=TREEBANK,
    settings=ParserProbeSettings,
    examples=(
        ("en_ewt-ud-dev.conllu --train en_ewt-ud-train.conllu", ""),
        ("en_ewt-ud-dev.conllu --probes right_branching,attention", ""),
    ),
    smallest={
        "probes": ["right_branching", "attention"],
        "measures": ["weight"],
        "training": {"epochs": 1},
        "processes": 1,
    },
    order=11,
    on_shards=False,
)
