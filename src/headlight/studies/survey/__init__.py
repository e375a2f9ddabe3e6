"""Survey of all heads, by weight, norm, effective attention and gradient."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.catalogue import TEXT, Study
from headlight.catalogue.statistics import statistic, statistic_table
from headlight.errors import UsageError, setting
from headlight.settings import (
    NO_EFFECT,
    AtLeast0,
    AtLeast1,
    Common,
    Range,
    StudySettings,
    require_distinct,
)
from headlight.study_settings.measures import MeasureSettings
from headlight.study_settings.models import QueryBlockSettings
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import RANKS_WITHOUT_FILE

Numbers = Literal["ranks", "importance", "null_space", "sinks"]
"""Part of a survey that is computed on request only."""
NEEDS = {
    "ranks": ("weight", "norm"),
    "importance": (),
    "null_space": ("effective",),
    "sinks": ("weight", "norm"),
}
"""Measures required by these parts."""
PROMINENT = "prominent"
"""Value of ``per_text`` for the statistics that the report shows."""
OF_TEXTS = ("share", "neighbour", "entropy", "behaviour_share")
"""Variables of the result that a survey has for each text as well."""


@dataclass(frozen=True, kw_only=True)
class RankSettings(StudySettings):
    """Settings of the ranks of weights, lengths and frequencies, if ``numbers`` has ``ranks``.

    Attributes:
        frequency_ranks: frequency ranks of token types: those in this ``corpus``, the order of the
            vocabulary without special tokens and single characters (``ids``; Kobayashi et al.
            2020, footnote 5), or a file with lines ``rank count id``.
        sinks: detection of attention sinks, which form a category of their own; ``auto``: on for
            causal models, and for models without class and separator tokens.
        sink_multiple: minimal ratio of the attention to a sink and uniform attention.
        sink_share: minimal share of heads in which a token is a sink.
    """

    frequency_ranks: Common[str] = "corpus"
    sinks: Common[Literal["auto", "on", "off"]] = "auto"
    sink_multiple: Annotated[float, Range(above=1)] = 5.0
    sink_share: Annotated[float, Range(above=0, maximum=1)] = 0.25

    def check_other_files(self) -> None:
        """Check that the file of ranks exists."""
        from headlight.corpora.source_changes import source_state

        super().check_other_files()
        if self.frequency_ranks not in RANKS_WITHOUT_FILE:
            source_state(self.frequency_ranks)


@dataclass(frozen=True, kw_only=True)
class SurveySettings(RankSettings, MeasureSettings, QueryBlockSettings, TextSettings):
    """Settings of a survey; everything that the result depends on besides model and corpus.

    With ``gradient`` among the measures, all measures are computed on the input of the objective,
    in which some tokens may be masked.

    Attributes:
        numbers: further statistics: ``ranks``, correlations of weights, norms and token frequency,
            which needs a further pass and whole layers in memory; ``importance``, the effect of
            attention on the loss, in a backward pass; ``null_space``, the share of attention
            without effect on the output; ``sinks``, whether heads do nothing by the first token, in
            12 passes for each.
        sample: number of points in the figures of ``ranks`` and ``null_space``.
        passages: keep passages of the corpus for each head, and 32 texts with all heads, for the
            report; for private texts switch it off, and set token_types to 0.
        token_types: number of token types with statistics of their own for each head: the first in
            the vocabulary, which are often the most frequent; fewer if the sums would take more
            than 64 MB; 0 for none.
        gated_queries: number of queries of each text, evenly spaced, for which norms are computed
            in models with a gate for each query; 0 for all.
        pages: number of texts with a page of their own, in a further pass over the corpus.
        per_text: statistics of each text in per_text.csv.gz: ``sep``, …, or ``prominent``.
    """

    numbers: tuple[Numbers, ...] = ()
    sample: AtLeast1 = 2_000
    passages: bool = True
    token_types: AtLeast0 = 2000
    gated_queries: AtLeast0 = 32
    pages: Common[Annotated[AtLeast0, NO_EFFECT]] = 0
    per_text: Common[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per_text:
            require_distinct("per_text", self.per_text)
            self._check_per_text()
        if self.numbers:
            require_distinct("numbers", self.numbers)
        for name in self.numbers:
            missing = [measure for measure in NEEDS[name] if measure not in self.measures]
            if missing:
                raise UsageError(
                    f"{name} is among the numbers, and needs measures that are left out; add "
                    f"{', '.join(missing)} to the measures."
                )

    @property
    def per_text_statistics(self) -> tuple[str, ...]:
        """Return the names of the statistics that are written for each text."""
        if self.per_text == (PROMINENT,):
            rows = [row for row in statistic_table() if row.variable in OF_TEXTS]
            return tuple(row.name for row in rows if row.prominent and not row.segment)
        return tuple(statistic(name).name for name in self.per_text)

    def _check_per_text(self) -> None:
        """Refuse statistics that a survey does not have of each text."""
        known = [row.name for row in statistic_table() if row.variable in OF_TEXTS]
        if PROMINENT in self.per_text and len(self.per_text) > 1:
            raise UsageError(f"{setting('per_text')} is {PROMINENT} alone, or names of statistics.")
        for name in self.per_text_statistics:
            if name not in known:
                raise UsageError(
                    f"{name} is a statistic of a corpus, not of each text; for "
                    f"{setting('per_text')} choose {PROMINENT}, or of {', '.join(known)}."
                )

    @property
    def required_head(self) -> str | None:
        """Return the head of a language model if a loss is needed, or any where it would help."""
        if "importance" in self.numbers:
            return "language_model"
        by_measures = super().required_head
        return None if "sinks" in self.numbers and by_measures == "none" else by_measures

    def check_command(self) -> None:
        """Refuse settings of ranks that are not computed."""
        super().check_command()
        defaults = RankSettings().signature()
        changed = [name for name, value in defaults.items() if getattr(self, name) != value]
        if changed and "ranks" not in self.numbers:
            raise UsageError(
                f"{setting(changed[0])} is for ranks, which are not computed; add ranks to "
                f"{setting('numbers')}."
            )


STUDY = Study(
    name="survey",
    title="survey of all heads, by all measures",
    question="measure weights, norms and effective attention of every head",
    papers="Clark et al. 2019, Section 3; Kobayashi et al. 2020; Brunner et al. 2020",
    source=TEXT,
    settings=SurveySettings,
    examples=(
        ("", "embedded model, sample corpus"),
        ("corpus.txt.gz --model bert-base-uncased --out run/", ""),
        ("wiki/ --pairs --max-examples 992", "as Clark and Kobayashi did"),
        ("wiki/ --measures weight,gradient", "runs the model backward as well"),
        ("wiki/ --pairs --numbers ranks,importance,null_space,sinks", "more numbers"),
        ("hf:imdb:train:text --out imdb/ --resume", ""),
    ),
    smallest={"numbers": ["ranks", "importance", "null_space", "sinks"], "sample": 5},
    order=1,
)
