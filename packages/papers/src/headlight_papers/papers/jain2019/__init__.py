"""*Attention is not Explanation* (Jain and Wallace 2019)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import TrainingPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(TrainingPaperSettings):
    """Everything that the results depend on besides data.

    Attributes:
        epochs: maximal number of epochs of training.
        max_texts: number of texts drawn from each part of a labelled set; by default all.
        max_explained: number of texts of each test set that are explained one by one.
        max_adversaries: number of these texts for which other attention is searched.
    """

    title: ClassVar[str] = "Attention is not Explanation (Jain and Wallace 2019)"
    reads: ClassVar[tuple[str, ...]] = ("labelled", "word_vectors")

    max_texts: AtLeast1 | None = None
    max_words: AtLeast1 | None = 200
    max_explained: Annotated[int, Range(minimum=2)] = 150
    max_adversaries: AtLeast1 = 60
