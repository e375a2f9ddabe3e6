"""The numbers of *Attention Module is Not Only a Weight* (Kobayashi et al. 2020), Section 4.

As in the first version on arXiv: BERT-base (uncased) on 992 segments of Wikipedia; layers and
heads from 1.
"""

from typing import NamedTuple


class Dispersion(NamedTuple):
    """A row of Table 1 or 4; the extremes are not given for averages."""

    mean: float
    deviation: float
    variation: float
    largest: float | None = None
    smallest: float | None = None


TABLE_1 = {
    "largest CV": ("2-4", Dispersion(4.26, 1.59, 0.37, 12.66, 0.96)),
    "smallest CV": ("2-7", Dispersion(4.00, 0.50, 0.12, 6.15, 1.35)),
    "average": ("", Dispersion(5.15, 1.17, 0.22)),
}
"""‖f(x)‖: which head, and its dispersion."""

TABLE_4 = {
    "largest CV": ("12", Dispersion(20.49, 4.62, 0.23, 32.84, 4.13)),
    "smallest CV": ("7", Dispersion(21.64, 1.40, 0.06, 23.03, 11.87)),
    "average": ("", Dispersion(19.93, 2.39, 0.12)),
}
"""‖x‖: which layer, and its dispersion."""

TABLE_2 = {
    "cls": (17_443_296, -0.34),
    "sep": (34_886_592, -0.69),
    "punctuation": (182_838_528, -0.25),
    "other": (1_944_928_224, -0.06),
}
"""Pairs of a weight and a norm in each category, and Spearman's ρ between them."""

FIGURE_6 = {"weight": -0.08, "norm": 0.75}
"""Spearman's ρ between the frequency rank of a token and α, and ‖f(x)‖."""

FIGURE_9 = 1.8
"""The largest singular value of f is at least so many times the smallest."""
