"""*Attention is not not Explanation* (Wiegreffe and Pinter 2019): settings and quoted numbers."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from headlight.settings import AtLeast1, Common, Range
from headlight_papers.papers.settings import AdversaryPaperSettings

SOURCE = "Wiegreffe and Pinter (2019)"


@dataclass(frozen=True, kw_only=True)
class Settings(AdversaryPaperSettings):
    """Everything that the results depend on besides data.

    Attributes:
        epochs: maximal number of epochs of training.
        max_adversaries: number of texts of each test set for which other attention is searched.
    """

    title: ClassVar[str] = "Attention is not not Explanation (Wiegreffe and Pinter 2019)"
    reads: ClassVar[tuple[str, ...]] = ("labelled", "word_vectors")

    lambdas: Common[tuple[Annotated[float, Range(minimum=0)], ...]] = (
        0.0,
        1.05e-3,
        1.6e-3,
        3e-3,
        1e-2,
    )
    """Weights λ, among them twice the 5.25e-4 and 8e-4 quoted from the paper."""
    predictions: Literal["labels", "tvd"] = "tvd"
    repeats: AtLeast1 = 5
    """Number of seeds; with three, intervals are so wide that most findings are inconclusive."""
    max_adversaries: AtLeast1 = 60


UNCHECKED = "as quoted; not checked against the paper"


@dataclass(frozen=True)
class Quoted:
    """F1 and distances of a labelled set.

    Attributes:
        base: F1 of the LSTM (Table 2).
        uniform: F1 with frozen uniform attention (Table 2).
        guided: F1 of the model without context (Table 3): with uniform weights, its own, those of
            the base, and those of an adversary.
        weight: Weight λ of the adversary, for the KL of a text; its TVD is half of ours.
        f1: F1 of the adversary.
        tvd: TVD between the predictions of adversary and base, half of ours.
        jsd: JSD between their attention.
    """

    base: float
    uniform: float
    guided: tuple[float, float, float, float] | None = None
    weight: float | None = None
    f1: float | None = None
    tvd: float | None = None
    jsd: float | None = None


QUOTED = {
    "SST": Quoted(0.831, 0.822, (0.812, 0.817, 0.824, 0.592), 5.25e-4, 0.823, 0.036, 0.514),
    "IMDb": Quoted(0.902, 0.879, (0.863, 0.888, 0.905, 0.700), 8e-4, 0.906, 0.014, 0.405),
    "AG News": Quoted(0.964, 0.960),
    "20 News": Quoted(0.942, 0.934),
}
"""Quoted numbers by the title of a set."""
