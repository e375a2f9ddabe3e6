"""Agreement of measures on the importance of words (Jain and Wallace 2019, Section 4.1)."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64

from headlight.errors import UsageError

Importance = Float[np.ndarray, " _"]
"""Importance of each word of one text, or of each token; texts differ in length."""

SIGNIFICANT = 0.05
"""A correlation of this p-value at most counts as significant."""

TOP_SHARE = 0.1
"""The most important words of a text are this share of them."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation on one text; both numbers are NaN where it is not defined.

    Attributes:
        value: Correlation, from −1 for opposite orders to 1 for the same order.
        p: Probability of a correlation at least as far from 0 if the orders are independent.
    """

    value: float
    p: float

    @property
    def significant(self) -> float:
        """Return 1 if p is at most `SIGNIFICANT`, otherwise 0; NaN where it is not defined.

        So the mean over texts with a correlation is a share.
        """
        return math.nan if math.isnan(self.p) else float(self.p <= SIGNIFICANT)


UNDEFINED = Correlation(math.nan, math.nan)


def kendall(first: Importance, second: Importance) -> Correlation:
    """Compute Kendall's τ_b of two measures on the same words, with its two-sided p-value.

    τ_b = (C − D) / √((n₀ − n₁)(n₀ − n₂)), with C pairs of words in the same order, D in the
    opposite one, n₀ pairs in all, and n₁ and n₂ tied in the first and in the second.  p is exact
    for short texts without ties, and otherwise that of a normal distribution.

    Returns:
        NaN for a single word, or where a measure is constant over all words: count such texts and
        leave them out.

    Raises:
        UsageError: The measures are not of the same words.

    Source: Kendall (1945); as `scipy.stats.kendalltau` has it, which the authors use.
    """
    from scipy.stats import kendalltau

    _check_lengths(first, second)
    if any(
        len(importance) < 2 or (importance == importance[0]).all() for importance in (first, second)
    ):
        return UNDEFINED
    result = kendalltau(first, second)
    return Correlation(float(result.statistic), float(result.pvalue))


def spearman(first: Importance, second: Importance) -> Correlation:
    """Compute Spearman's ρ of two measures on the same words: Pearson's r of their ranks.

    Tied words share the mean of their ranks.  The two-sided p-value is that of Student's t, and 1
    for two words.

    Returns:
        NaN for a single word, or where a measure is constant over all words.

    Raises:
        UsageError: The measures are not of the same words.
    """
    from scipy.special import stdtr
    from scipy.stats import rankdata

    _check_lengths(first, second)
    ranks = [rankdata(importance) - (len(importance) + 1) / 2 for importance in (first, second)]
    lengths = math.prod(float(np.linalg.norm(ranking)) for ranking in ranks)
    if not lengths:
        return UNDEFINED
    value, freedom = float(ranks[0] @ ranks[1]) / lengths, len(first) - 2
    if not freedom:
        return Correlation(value, 1.0)
    rest = 1 - value**2
    distance = abs(value) * math.sqrt(freedom / rest) if rest > 0 else math.inf
    return Correlation(value, float(2 * stdtr(freedom, -distance)))


COEFFICIENTS = {"spearman": spearman, "kendall": kendall}
"""Rank correlations by name."""


def top_overlap(first: Importance, second: Importance, number: int) -> float:
    """Compute the share of the most important words by one measure that are so by the other too.

    Of equally important words, the first counts as more important.

    Args:
        first: Importance of the words by one measure.
        second: Importance of the words by the other measure.
        number: Number of words that count as the most important; all words of a shorter text.

    Returns:
        Share from 0 to 1, and 1 for texts that are not longer than `number`; the expectation for a
        random order is `number` divided by the number of words.  NaN for a text without words.

    Raises:
        UsageError: The measures are not of the same words.
    """
    _check_lengths(first, second)
    count = min(number, len(first))
    tops = [
        set(np.argsort(-importance, kind="stable")[:count].tolist())
        for importance in (first, second)
    ]
    return len(tops[0] & tops[1]) / count if count else math.nan


def top_number(words: int, share: float = TOP_SHARE) -> int:
    """Return the number of most important words: a share of all, rounded up."""
    return math.ceil(share * words - 1e-9)  # 0.1 * 70 is 7.000000000000001


def _check_lengths(first: Importance, second: Importance) -> None:
    if len(first) != len(second):
        raise UsageError(
            f"measures of {len(first)} and of {len(second)} words cannot be compared; give both of "
            "the same words."
        )


def linear_fit(
    kept: Bool[np.ndarray, "subset passage"], values: Float64[np.ndarray, " subset"]
) -> Float64[np.ndarray, " passage"]:
    """Return the coefficient of each passage in the least-squares model of numbers of sets."""
    design = np.column_stack([np.ones(len(kept)), kept])
    return np.asarray(np.linalg.lstsq(design, values, rcond=None)[0][1:])
