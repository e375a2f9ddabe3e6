"""Settings of the reproduction of *Is Attention Points Out the Only "Path"?*; without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headlight.settings import AtLeast1, Range
from headlight_papers.papers.settings import AdversaryPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(AdversaryPaperSettings):
    """Everything that the results depend on besides data.

    Attributes:
        max_sentences: sentences with tags; by default all.
        max_texts: texts of each part of a labelled set, drawn, for the classifiers beside the
            tagger.
        max_words: labelled texts that are longer are left out.
    """

    title: ClassVar[str] = "Is Attention Points Out the Only “Path”? (Yang 2020)"
    reads: ClassVar[tuple[str, ...]] = ("tagged", "labelled", "word_vectors")

    lambdas: tuple[Annotated[float, Range(minimum=0)], ...] = (
        0.0, 1e-4, 3e-4, 1e-3, 3e-3, 6.92e-3, 1e-2, 3e-2, 0.104,
    )  # fmt: skip
    """The paper's 0.2 and 3 over 28.9, the mean length of a row of CoNLL-2000, are among them."""
    max_sentences: AtLeast1 | None = None
    max_texts: AtLeast1 | None = 1500
    max_words: AtLeast1 | None = 120
