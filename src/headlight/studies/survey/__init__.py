"""The survey: every head, by weight, norm, effective attention and gradient."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis import MeasureSettings, QueryBlockSettings, TextSettings
from headlight.catalogue import Study
from headlight.errors import UsageError
from headlight.settings import NO_EFFECT, AtLeast0, AtLeast1, Range, StudySettings, require_distinct
from headlight.vocabulary import RANKS_WITHOUT_FILE

Numbers = Literal["ranks", "importance", "null_space"]
"""Parts of a survey that are left out unless they are named."""
NEEDS = {"ranks": ("weight", "norm"), "importance": (), "null_space": ("effective",)}
"""Measures without which there are no such numbers."""


@dataclass(frozen=True, kw_only=True)
class RankSettings(StudySettings):
    """Settings of the ranks of weights, lengths and frequencies, where ``numbers`` has ``ranks``.

    Attributes:
        frequency_ranks: how frequent the types of tokens are: as they are in this ``corpus``, by
            the order of the vocabulary (``ids``), or by a file with lines ``rank count id``.
        frequency_exclusions: ``paper`` ranks types as Kobayashi et al. (2020), footnote 5, without
            special tokens and single characters; by default so for ``ids`` only.
        sinks: whether attention sinks are looked for and get a category of their own; ``auto`` is
            on where the model has no class and separator tokens, or looks only at what came before.
        sink_multiple: a sink receives at least this many times what it would if attention were
            even.
        sink_share: so it is in at least this share of all heads.
    """

    frequency_ranks: str = "corpus"
    frequency_exclusions: Literal["none", "paper"] | None = None
    sinks: Literal["auto", "on", "off"] = "auto"
    sink_multiple: Annotated[float, Range(above=1)] = 5.0
    sink_share: Annotated[float, Range(above=0, maximum=1)] = 0.25

    def check_other_files(self) -> None:
        """The file of ranks is there."""
        from headlight.corpora.hub import source_state

        super().check_other_files()
        if self.frequency_ranks not in RANKS_WITHOUT_FILE:
            source_state(self.frequency_ranks)


@dataclass(frozen=True, kw_only=True)
class SurveySettings(RankSettings, MeasureSettings, QueryBlockSettings, TextSettings):
    """Settings of a survey; everything that the result depends on besides model and corpus.

    With ``gradient`` among the measures, all of them look at what the objective lets the model see,
    some tokens being masked.

    Attributes:
        numbers: what is computed besides: ``ranks``, whether weights and lengths go together, and
            either with how frequent a token is, which counts tokens first and takes whole layers
            into memory; ``importance``, how much the loss depends on attention, in another pass,
            backward; ``null_space``, how much of attention no output shows, by length.
        sample: of ``ranks`` and ``null_space``, how many pairs of positions of every category of
            keys, occurrences of tokens, and texts are kept for pictures.
        passages: keep for each head some tokens of the corpus where it does most what it does, and
            32 texts on which all heads are shown, for the report; leave it out where texts are
            private, and token_types as well.
        token_types: say of this many tokens of the vocabulary how much each head gives them and
            they give; those that come first in the vocabulary, in most the most frequent ones, and
            fewer where the sums of all heads would take more than 64 MB; 0 for none.
        gated_queries: where a gate is a vector for each query, norms are another computation for
            each: they are taken at this many queries of each text, evenly spread; 0 for all.
        pages: write a page for this many of the texts that the report shows passages of, which
            opens at the head; the corpus is gone through once more, until they are found.
    """

    numbers: tuple[Numbers, ...] = ()
    sample: AtLeast1 = 2_000
    passages: bool = True
    token_types: AtLeast0 = 2000
    gated_queries: AtLeast0 = 32
    pages: Annotated[AtLeast0, NO_EFFECT] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numbers:
            require_distinct("numbers", self.numbers)
        for name in self.numbers:
            missing = [each for each in NEEDS[name] if each not in self.measures]
            if missing:
                raise UsageError(
                    f"{name} is among the numbers, and needs measures that are left out; add "
                    f"{', '.join(missing)} to the measures."
                )

    @property
    def required_head(self) -> str:
        """Return the head of a language model, where a loss is needed."""
        return "language_model" if "importance" in self.numbers else super().required_head

    def check_command(self) -> None:
        """Ranks are not told how to be computed where nobody asks for them."""
        super().check_command()
        defaults = RankSettings().signature()
        changed = [name for name, value in defaults.items() if getattr(self, name) != value]
        if changed and "ranks" not in self.numbers:
            raise UsageError(
                f"{changed[0]} says how ranks are compared, and they are not computed; add ranks "
                "to --numbers."
            )


STUDY = Study(
    name="survey",
    title="what every head does, by all measures",
    question="what weights, norms and effective attention say about every head",
    papers="Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020",
    reads="text",
    settings=SurveySettings,
    examples=(
        ("", "embedded model, sample corpus"),
        ("corpus.txt.gz --model bert-base-uncased --out run/", ""),
        ("wiki/ --pairs --max-examples 992", "as Clark and Kobayashi did"),
        ("wiki/ --measures weight,gradient", "runs the model backward as well"),
        ("wiki/ --pairs --numbers ranks,importance,null_space", "more numbers"),
        ("hf:imdb:train:text --out imdb/ --resume", ""),
    ),
    smallest={"numbers": ["ranks", "importance", "null_space"], "sample": 5},
    order=1,
)
