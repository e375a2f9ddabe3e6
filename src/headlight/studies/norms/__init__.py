"""Norms of transformed vectors (Kobayashi et al. 2020, Section 4)."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.analysis.settings import TextSettings
from headlight.catalogue import Study
from headlight.settings import AtLeast1, Range
from headlight.vocabulary import RANKS_WITHOUT_FILE


@dataclass(frozen=True, kw_only=True)
class NormSettings(TextSettings):
    """What a study of norms looks at; its result depends on all of it.

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
        sink_documents: sinks are looked for in this many of the first examples.
        sink_occurrences: a type that occurs less often in these is not judged.
        sample: pairs of positions that are kept for every category of keys, and occurrences of
            tokens, for pictures.
    """

    frequency_ranks: str = "corpus"
    frequency_exclusions: Literal["none", "paper"] | None = None
    sinks: Literal["auto", "on", "off"] = "auto"
    sink_multiple: Annotated[float, Range(above=1)] = 5.0
    sink_share: Annotated[float, Range(above=0, maximum=1)] = 0.25
    sink_documents: AtLeast1 = 64
    sink_occurrences: AtLeast1 = 4
    sample: AtLeast1 = 2_000

    def check_other_files(self) -> None:
        """The file of ranks is there."""
        from headlight.corpora.state import source_state

        if self.frequency_ranks not in RANKS_WITHOUT_FILE:
            source_state(self.frequency_ranks)


STUDY = Study(
    name="norms",
    title="lengths, weights and frequency",
    question="how long transformed vectors are, and how that goes with weights and frequency",
    papers="Kobayashi et al. 2020, Section 4",
    reads="text",
    settings=NormSettings,
    examples=(
        ("wiki/ --pairs --max-examples 992", "as Kobayashi did"),
        ("wiki/ --model gpt2 --sinks on", "looks for attention sinks"),
    ),
    smallest={"sample": 5},
    order=2,
    no_sentence=(
        "it speaks of lengths over a whole corpus; what each head does with them, a survey of the"
        " same texts shows"
    ),
)
