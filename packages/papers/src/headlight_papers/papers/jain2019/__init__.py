"""*Attention is not Explanation* (Jain and Wallace 2019)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import TrainingPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(TrainingPaperSettings):
    """Everything that the results depend on besides data.

    Attributes:
        epochs: epochs of training, at most.
        max_texts: texts of each part of a labelled set, drawn; by default all.
        max_explained: texts of each test set that are explained one by one.
        max_adversaries: texts among these with a search for other attention.
    """

    title: ClassVar[str] = "Attention is not Explanation (Jain and Wallace 2019)"
    reads: ClassVar[tuple[str, ...]] = ("labelled", "word_vectors")

    max_texts: AtLeast1 | None = None
    max_words: AtLeast1 | None = 200
    max_explained: Annotated[int, Range(minimum=2)] = 150
    max_adversaries: AtLeast1 = 60
