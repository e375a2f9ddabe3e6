"""Settings of the reproduction of *Attention is not not Explanation*; without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import AdversaryPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(AdversaryPaperSettings):
    """Everything that the results depend on besides data.

    Attributes:
        epochs: passes over what is learnt from, at most.
        max_texts: texts of each part of a labelled set, drawn.
        max_words: labelled texts that are longer are left out, besides those that the papers leave
            out.
        max_adversaries: texts of each test part for which other attention is looked for one by one.
    """

    title: ClassVar[str] = "Attention is not not Explanation (Wiegreffe and Pinter 2019)"
    reads: ClassVar[tuple[str, ...]] = ("labelled", "word_vectors")

    lambdas: tuple[Annotated[float, Range(minimum=0)], ...] = (
        0.0, 1.05e-3, 1.6e-3, 3e-3, 1e-2,
    )  # fmt: skip
    """Twice the 5.25e-4 and 8e-4 that are quoted of the paper's are among them."""
    predictions: Literal["labels", "tvd"] = "tvd"
    repeats: AtLeast1 = 5
    """Of three seeds the intervals are so wide that hardly a finding is decided."""
    max_texts: AtLeast1 | None = 1500
    max_words: AtLeast1 | None = 120
    max_adversaries: AtLeast1 = 60
