"""*On Identifiability in Transformers* (Brunner et al. 2020): its settings; without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.settings import AtLeast0, AtLeast1, Common, Range
from headlight_papers.papers.settings import TextPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides models and data.

    Attributes:
        max_sentences: maximal number of sentences of the treebank; by default that of pairs.
        invalid: handling of sentences with words that the tokenizer drops.
        max_pairs: maximal number of examples of each set of sentence pairs.
        directions: random directions of the estimate of contributions for each input token.
        exact_pairs: number of short examples of the first set whose contributions are also computed
            exactly.
        folds: number of random splits of the pairs for token identification.
        mlp_folds: number of random splits for MLPs, which take ten times as long as linear maps.
        solver: solver of linear maps for token identification: ``adam``, as in the paper, or
            ``ridge``, which is much faster.
    """

    title: ClassVar[str] = "On Identifiability in Transformers (Brunner et al. 2020)"
    reads: ClassVar[tuple[str, ...]] = ("text", "pairs", "dependency")
    models: ClassVar[tuple[str, ...]] = ("model", "compare")

    max_sentences: Common[AtLeast1 | None] = None
    invalid: Literal["refuse", "skip"] = "refuse"
    max_pairs: Common[AtLeast1] = 408
    directions: Annotated[int, Range(minimum=2)] = 8
    exact_pairs: AtLeast0 = 20
    folds: AtLeast1 = 10
    mlp_folds: AtLeast1 = 2
    solver: Literal["adam", "ridge"] = "adam"
