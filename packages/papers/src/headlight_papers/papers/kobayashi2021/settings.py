"""Settings of the reproduction of Kobayashi et al. (2021); without torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.settings import Range
from headlight_papers.papers.settings import TextPaperSettings


@dataclass(frozen=True, kw_only=True)
class Settings(TextPaperSettings):
    """Everything that the results depend on besides models and data.

    Attributes:
        kind: the attention that is looked at; by default the first that the model has.
        masks: share of the tokens of a segment that the mask token stands in place of; 0.12 is 15
            in 100, of which BERT's training masks 80 in 100. None where the model has no such
            token.
    """

    title: ClassVar[str] = (
        "Incorporating Residual and Normalization Layers into Analysis of Masked Language Models "
        "(Kobayashi et al. 2021)"
    )
    reads: ClassVar[tuple[str, ...]] = ("text",)

    kind: Literal["encoder", "decoder"] | None = None
    masks: Annotated[float, Range(minimum=0, maximum=1)] = 0.12
