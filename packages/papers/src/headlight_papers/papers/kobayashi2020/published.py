"""The numbers of *Attention Module is Not Only a Weight* (Kobayashi et al. 2020).

As in the first version on arXiv: BERT-base (uncased) on 992 segments of Wikipedia, and one
translator from German to English; layers and heads from 1.  Of Section 5 those of the version at
EMNLP as well, the means of five translators, which tell the two rows of a target word apart: that
of the step which reads it (input, AWI), and that of the step which predicts it (output, AWO).
"""

from typing import NamedTuple

SOURCE = "Kobayashi et al. (2020)"


class Dispersion(NamedTuple):
    """Row of Table 1 or 4; the extremes are not given for averages."""

    mean: float
    deviation: float
    variation: float
    largest: float | None = None
    smallest: float | None = None


TABLE_1 = {
    "largest CV": ("L1H3 (2-4)", Dispersion(4.26, 1.59, 0.37, 12.66, 0.96)),
    "smallest CV": ("L1H6 (2-7)", Dispersion(4.00, 0.50, 0.12, 6.15, 1.35)),
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
"""Lower bound of the ratio of the largest to the smallest singular value of f."""

TABLE_3 = {
    ("weight", "best"): 51.9,
    ("weight", "mean"): 81.4,
    ("norm", "best"): 28.3,
    ("norm", "mean"): 61.6,
}
"""Alignment error rates in percent: of the best layer, and the mean of all layers."""

TABLE_3_OTHERS = {"size": 36.4, "input": 36.4, "fast_align": 28.4, "GIZA++": 21.0}
"""Error rates in percent: of SmoothGrad in the form of Li et al. (2016) and in that of Ding et al.
(2019), as these report it; of aligners from German to English, as Zenkel et al. (2019) do."""

FIVE_SEEDS = {
    ("weight", "input"): (29.8, 68.5),
    ("norm", "input"): (25.0, 60.4),
    ("weight", "output"): (47.7, 68.4),
    ("norm", "output"): (41.4, 62.9),
}
"""Error rates of the best layer, and the means of all layers, of five translators (EMNLP 2020)."""

FIGURE_7 = {
    "weight": (76.2, 80.1, 51.9, 92.1, 93.5, 94.4),
    "norm": (32.5, 28.3, 42.7, 87.0, 88.6, 90.5),
}
"""Error rates of the layers."""

BEST_LAYER = 2
"""Best layer by norms, where the row is that of the step which reads the word."""

HIGHEST_NORM = {
    ("layer", "input"): 25.0,
    ("layer", "output"): 83.0,
    ("head", "input"): 35.5,
    ("head", "output"): 87.1,
}
"""Error rates of the layer and of the head with the highest mean norm (EMNLP 2020)."""

HEAD_SPEARMAN = {"input": -0.44, "output": 0.56}
"""Spearman's ρ between the error rate and the mean norm of heads (EMNLP 2020)."""
