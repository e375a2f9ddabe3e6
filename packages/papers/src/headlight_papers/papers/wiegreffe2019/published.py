"""Numbers of Wiegreffe and Pinter (2019) as they are quoted elsewhere.

They have not been checked against the paper, and are shown with these words beside them.
"""

from dataclasses import dataclass

UNCHECKED = "as quoted; not checked against the paper"


@dataclass(frozen=True)
class Quoted:
    """F1 and distances of one set.

    Attributes:
        base: F1 of the LSTM (Table 2).
        uniform: F1 with uniform attention, frozen (Table 2).
        guided: F1 of the model without context (Table 3): with uniform weights, its own, those of
            the base, and of an adversary.
        weight: λ of the adversary, which multiplies the KL of a text beside half of our TVD.
        f1: of the adversary.
        tvd: between it and the base, half of ours.
        jsd: between their attention.
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
"""By the title of a set."""
