"""*What Does BERT Look At?* (Clark et al. 2019): its settings; without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.errors import UsageError
from headlight.settings import NO_EFFECT, AtLeast0, AtLeast1, choices, require_choice
from headlight_papers.papers.settings import SegmentIds, TextPaperSettings

Measure = Literal["weight", "norm", "effective", "gradient"]
"""What the paper's questions can be asked of: the measures of single heads."""

MEASURES: tuple[Measure, ...] = choices(Measure)


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides model and data.

    Attributes:
        measures: what is compared with one another; ``gradient`` needs a language-model head.
        max_sentences: sentences of each treebank; by default all.
        overlap: read whole documents for coreference, in windows that share this many words; by
            default documents are cut off after 128 tokens, as in the paper.
        invalid: what becomes of sentences and documents whose annotation is invalid, or whose words
            the tokenizer drops.
        processes: probes that are trained at a time; by default as many as there are cores.
    """

    title: ClassVar[str] = "What Does BERT Look At? (Clark et al. 2019)"
    reads: ClassVar[tuple[str, ...]] = (
        "text", "dependency", "dependency_train", "coreference", "word_vectors",
    )  # fmt: skip

    measures: Annotated[tuple[str, ...], Measure] = MEASURES  # checked below, one by one
    segment_ids: SegmentIds = "zeros"
    max_sentences: AtLeast1 | None = None
    overlap: AtLeast0 | None = None
    invalid: Literal["refuse", "skip"] = "refuse"
    processes: Annotated[AtLeast1 | None, NO_EFFECT] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for measure in self.measures:
            require_choice("measure", measure, Measure)
        if not self.measures:
            raise UsageError("no measure is asked for; name at least one with --measures.")
