"""*What Does BERT Look At?* (Clark et al. 2019): its settings; without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.errors import UsageError, setting
from headlight.settings import NO_EFFECT, AtLeast0, AtLeast1, Common, choices, require_choice
from headlight_papers.papers.settings import SegmentIds, TextPaperSettings

Measure = Literal["weight", "norm", "effective", "gradient"]
"""Measure of single heads for which the exhibits of the paper can be made."""

MEASURES: tuple[Measure, ...] = choices(Measure)


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides model and data.

    Attributes:
        measures: measures to compare; ``gradient`` needs a language-model head.
        max_sentences: maximal number of sentences of each treebank; by default all.
        overlap: words that consecutive windows of a document share, for coreference; by default
            documents are truncated after 128 tokens, as in the paper.
        invalid: handling of sentences and documents with invalid annotation, or with words that the
            tokenizer drops.
        processes: number of probes trained in parallel; by default the number of cores.
    """

    title: ClassVar[str] = "What Does BERT Look At? (Clark et al. 2019)"
    reads: ClassVar[tuple[str, ...]] = (
        "text",
        "dependency",
        "dependency_train",
        "coreference",
        "word_vectors",
    )

    measures: Common[Annotated[tuple[str, ...], Measure]] = MEASURES  # checked below, one by one
    segment_ids: SegmentIds = "zeros"
    max_sentences: Common[AtLeast1 | None] = None
    overlap: Common[AtLeast0 | None] = None
    invalid: Literal["refuse", "skip"] = "refuse"
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for measure in self.measures:
            require_choice("measure", measure, Measure)
        if not self.measures:
            raise UsageError(
                f"no measure is selected; name at least one with {setting('measures=')}."
            )
