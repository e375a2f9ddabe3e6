"""*Attention Module is Not Only a Weight* (Kobayashi et al. 2020): its settings; without torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headlight.settings import AtLeast0, AtLeast1, Common
from headlight.vocabulary import Kind
from headlight_papers.papers.settings import TextPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides models and data.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        samples: number of noisy copies of a sentence for SmoothGrad; 30 in the papers.
        max_gradients: number of translations, from the first, for gradients and differences of
            predictions.
        max_parallel: maximal number of pairs of parallel text on which other aligners are trained;
            0 trains none.
        drawn: translations whose soft alignments are drawn: the ``sample`` of the package, from
            German to English, or the first short ones of the ``corpus`` with gold links.
    """

    title: ClassVar[str] = "Attention Module is Not Only a Weight (Kobayashi et al. 2020)"
    reads: ClassVar[tuple[str, ...]] = (
        "text",
        "frequency_ranks",
        "translations",
        "translations_target",
        "gold",
        "links",
        "parallel",
        "parallel_target",
    )
    models: ClassVar[tuple[str, ...]] = ("model", "translator")

    kind: Common[Kind | None] = None
    samples: AtLeast1 = 10
    max_gradients: AtLeast1 = 40
    max_parallel: AtLeast0 = 5000
    drawn: Literal["sample", "corpus"] = "sample"
