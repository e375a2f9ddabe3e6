"""The rules by which something is said of a model: one table for surveys and reproductions.

The papers give no such rules; these are ours.  What a sentence or a verdict claims is true of the
numbers beside it by one of them, so that two places cannot judge the same numbers differently.
"""

from math import isfinite
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST = 0.5
"""A head that gives a target more than this share of its weight is a head for it."""

WORTH_SAYING = 0.3
"""A head that gives no neighbour such a share of its weight is not spoken of for it."""

RETRIEVES = 0.1
"""A head that copies more than this share of a needle's tokens retrieves (Wu et al. 2024)."""

FAR_BELOW = 0.5
"""What is taken is far below the weight if its share is at most this many times the weight's."""

APART = 0.1
"""Two shares differ if they are so far apart: ten points."""

BROAD, VERY_BROAD, NARROW = 0.75, 0.9, 0.5
"""Shares of the entropy of uniform attention: a head above the first is broad, above the second
nearly uniform, and below the third narrow."""

NATS_APART = 0.3
"""Two entropies differ if they are so far apart."""

PARTICULAR = 0.3
"""A head is one for particular tokens if what they get is this many nats from their frequency."""

UNREACHED = 0.01
"""Weight that cannot reach the output is spoken of if it is at least so much, on average."""

SAME = 0.98
"""Effective attention is nearly the weight where they correlate so much in every head."""

CORRELATION_APART, FEWEST_TEXTS = 0.05, 3
"""Correlations of short and long texts differ if they are so far apart, each of this many texts."""

VARIES = 0.1
"""Lengths vary if their coefficient of variation is at least so much, on average over heads."""

RELATED = 0.1
"""Ranks are related if |ρ| is at least so much."""

UNCHANGED = 10.0
"""Outputs are the same if they change by at most this many times what rounding changes."""

IDENTIFIED = 0.8
"""Tokens mostly keep their identity if at least this share of them is found."""

FEW_EXAMPLES = 20
"""Fewer examples say little of a corpus, which is said above all findings."""

FEW_MENTIONS, FEWEST_DOCUMENTS = 100, 5
"""Of fewer mentions the best head is picked by chance as well; of fewer documents there is no
interval."""

ONE_WORD = 0.5
"""Where more than this share of the texts is one word, nothing is said of pieces of words."""

MANY_UNKNOWN = 0.1
"""The share of tokens that a tokenizer may not know without a word about it."""

OF_THE_REST = 0.25
"""A classifier is near the most frequent class if it finds less than this share of what that class
alone leaves wrong."""


@overload
def decided(value: float, low: float, high: float, other: float) -> str: ...


@overload
def decided(
    value: Numbers, low: Numbers, high: Numbers, other: Numbers | float
) -> NDArray[Any]: ...


def decided(
    value: Numbers | float, low: Numbers | float, high: Numbers | float, other: Numbers | float
) -> NDArray[Any] | str:
    """Whether numbers are ``above`` or ``below`` others, or their intervals reach these.

    Args:
        value: a number, or an array of them.
        low: the lower ends of their intervals.
        high: the upper ends.
        other: what they are compared with.

    Returns:
        ``above``, ``below``, or ``inconclusive``, also where there is no interval, or no number.
    """
    known = np.isfinite(low) & np.isfinite(high)
    above = known & (np.minimum(value, low) > other)
    below = known & (np.maximum(value, high) < other)
    verdict: NDArray[Any] | str = np.select([above, below], ["above", "below"], "inconclusive")[()]
    return verdict


def rivals(value: Numbers, low: Numbers, high: Numbers, *, first: int) -> list[int]:
    """Numbers of which one may be the largest instead of the first: their intervals reach its own.

    So may one be that has no interval.

    Args:
        value: numbers; NaN for what is missing.
        low: the lower ends of their intervals.
        high: the upper ends.
        first: the place of the largest.

    Returns:
        their places, the largest before others; none where the first has no interval.
    """
    if not isfinite(low[first] + high[first]):
        return []
    reach = np.isfinite(value) & ~(high < low[first])
    order = np.argsort(-np.where(np.isfinite(value), value, -np.inf), kind="stable")
    return [int(at) for at in order if reach[at] and at != first]


def chosen_ends(
    value: Numbers, low: Numbers, high: Numbers, *, candidates: int, units: int
) -> tuple[Any, Any]:
    """Return the ends of the interval of a number that was chosen among several on the same data.

    The largest of many is too large by chance.  Intervals of 95% are moved apart to the width at
    which all candidates together lie in theirs in 95% of samples (Bonferroni, by Student's t), so
    that the ends hold whichever was chosen.

    Args:
        value: the chosen number, or an array of them.
        low: the lower end of its interval of 95%.
        high: the upper end.
        candidates: among how many it was chosen, such as heads times directions.
        units: texts, sentences or documents; below 2 the ends are NaN.

    Source: Dunn (1961), "Multiple comparisons among means".
    """
    from scipy.stats import t

    freedom = units - 1 if units > 1 else np.nan
    wider = t.ppf(1 - 0.025 / max(candidates, 1), freedom) / t.ppf(0.975, freedom)
    return value - wider * (value - low), value + wider * (high - value)


def is_near_majority(accuracy: float, low: float, majority: float) -> bool:
    """Whether a classifier is hardly better than who always says the most frequent class.

    Args:
        accuracy: its share of correct predictions.
        low: the lower end of the interval of it; NaN where there is none.
        majority: the share of the most frequent class.
    """
    hardly_more = accuracy - majority < OF_THE_REST * (1 - majority)
    return hardly_more or low <= majority or majority == 1
