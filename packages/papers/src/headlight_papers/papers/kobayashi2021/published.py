"""The numbers of Kobayashi et al. (2021), Table 2: mixing ratios in percent.

Of 992 pairs of Wikipedia, those of Clark et al. (2019), with masks.
"""

from typing import NamedTuple


class Ratios(NamedTuple):
    """Over the tokens and layers of BERT-base (uncased), and the mean of RoBERTa-base."""

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
