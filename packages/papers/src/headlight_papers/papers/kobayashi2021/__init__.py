"""*Incorporating Residual and Normalization Layers into Analysis of Masked Language Models*."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

from headlight.settings import Range
from headlight_papers.papers.settings import TextPaperSettings

SOURCE = "Kobayashi et al. (2021)"


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides models and data.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        masks: share of masked tokens of a segment; 0.12 is 80% of the 15% of BERT's training.
            Without effect for a model that has no mask token.
    """

    title: ClassVar[str] = (
        "Incorporating Residual and Normalization Layers into Analysis of Masked Language Models "
        "(Kobayashi et al. 2021)"
    )
    reads: ClassVar[tuple[str, ...]] = ("text",)

    kind: Literal["encoder", "decoder"] | None = None
    masks: Annotated[float, Range(minimum=0, maximum=1)] = 0.12


class Ratios(NamedTuple):
    """Mixing ratios over the tokens and layers of BERT-base (uncased), with the mean of RoBERTa."""

    mean: float
    largest: float
    smallest: float
    roberta: float


TABLE_2 = {
    "weight": Ratios(97.1, 100, 45.0, 95.8),
    "norm": Ratios(85.2, 100, 4.9, 84.4),
    "weight_residual": Ratios(48.6, 50, 22.5, 47.9),
    "norm_residual": Ratios(22.3, 65.7, 2.0, 19.6),
    "norm_residual_norm": Ratios(18.8, 61.3, 1.3, 16.2),
}
