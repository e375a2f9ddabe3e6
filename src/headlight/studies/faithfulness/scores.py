"""Scores of maps: by the drop in a prediction without tokens, and by agreement."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64

from headlight.measures.agreement import COEFFICIENTS, top_number, top_overlap
from headlight.observations.word_importance import Importance, Words
from headlight.studies.faithfulness import Shares

SHARES: Mapping[Shares, tuple[float, ...]] = {
    "tenths": tuple(step / 10 for step in range(1, 10)),
    "eraser": (0.01, 0.05, 0.1, 0.2, 0.5),
}
"""Shares of tokens removed by Modarressi et al. (2023) and by ERASER (DeYoung et al. 2020)."""

OF_QUESTION = {
    "removal": ("comprehensiveness", "normalised", "sufficiency"),
    "flips": ("first_flip", "share_to_flip"),
}
"""Scores of an order, by question; a correlation has the name of its reference map."""

OF_PAIRS = ("correlation", "significant", "overlap")

Order = Int64[np.ndarray, " _"]
"""Tokens of a text, the most important first."""

Prediction = Callable[[Words], tuple[float, bool]]
"""Function of removed tokens: probability of the target, and whether it is still the largest."""

Lost = Float64[np.ndarray, "end share"]
"""Drop in the probability without a share of the tokens: most important, least important."""


def order_of(importance: Importance) -> Order:
    """Return the tokens, the most important first; ties keep the order of the text."""
    order: Order = np.argsort(-importance, kind="stable")
    return order


def removals(order: Order, shares: Shares) -> Iterator[tuple[Words, Words]]:
    """Yield the tokens removed for each share: the most important, and those at the other end.

    Tenths are rounded to the nearest number of tokens, halves up, and to at least one token; the
    same number is removed from the other end.  Shares of ERASER are rounded up, and the other end
    is all tokens but the most important.
    """
    tokens = list(map(int, order))
    # 1e-9 makes up for rounding errors: 0.7 * 45 is slightly less than 31.5.
    for share in SHARES[shares]:
        if shares == "eraser":
            number = math.ceil(share * len(tokens) - 1e-9)
            rest = tokens[number:]
        else:
            number = max(1, int(share * len(tokens) + 0.5 + 1e-9))
            rest = tokens[-number:]
        yield frozenset(tokens[:number]), frozenset(rest)


def removed_sets(order: Order, shares: Shares) -> Iterator[Words]:
    """Yield all sets of tokens that `lost` and `flips` remove from a text."""
    yield frozenset()
    yield frozenset(map(int, order[:1]))
    for ends in removals(order, shares):
        yield from ends


def lost(order: Order, shares: Shares, without: Prediction) -> Lost:
    """Return the drop in the probability of the target for each share and end."""
    whole, _ = without(frozenset())
    ends = [[whole - without(end)[0] for end in sets] for sets in removals(order, shares)]
    return np.array(ends).T


def flips(order: Order, shares: Shares, without: Prediction) -> Float64[np.ndarray, "score"]:
    """Return whether the prediction flips without the first token, and the smallest such share.

    Source: Serrano and Smith (2019); the share is 1 where the prediction never changes.
    """
    first = not without(frozenset(map(int, order[:1])))[1]
    changed = [
        share
        for share, (most, _) in zip(SHARES[shares], removals(order, shares), strict=True)
        if not without(most)[1]
    ]
    return np.array([float(first), min(changed, default=1.0)])


def scores_of_removal(by_map: Mapping[str, Sequence[Lost]]) -> Float64[np.ndarray, "score map"]:
    """Return comprehensiveness, its normalised form and sufficiency of each map on one text.

    Comprehensiveness is the mean over shares of what is lost without the most important tokens, and
    sufficiency that at the other end (the lower the better).  Normalised is
    (comprehensiveness − low) / (high − low), where low and high are the least and the most that any
    known order loses: those of all maps, random ones, and all of these backward; NaN where they are
    the same.

    Args:
        by_map: Drops in probability for each order of each map; the random one has several.

    Source: DeYoung et al. (2020), Section 4; Edin et al. (2025), who take for the bounds all orders
        or those of a beam search.
    """
    means = {name: np.array(orders).mean(-1) for name, orders in by_map.items()}  # order, end
    all_means = np.concatenate([by_text.ravel() for by_text in means.values()])
    low, high = all_means.min(), all_means.max()
    width = high - low if high > low else np.nan
    mean = np.array([by_text.mean(0) for by_text in means.values()])  # map, end
    return np.stack([mean[:, 0], (mean[:, 0] - low) / width, mean[:, 1]])


def pair_scores(
    by_map: Mapping[str, Sequence[Importance]],
    coefficient: Literal["spearman", "kendall"],
    *,
    signed: bool,
) -> Float64[np.ndarray, "statistic map other"]:
    """Return `OF_PAIRS` of each two maps on one text; NaN between a map and itself.

    Args:
        by_map: Importance of each token by map; the random one has several, which are averaged.
        coefficient: Correlation coefficient.
        signed: Whether to correlate signed values, rather than absolute ones.

    Source: Jain and Wallace (2019), Section 4.1.
    """
    values = [[draw if signed else np.abs(draw) for draw in rows] for rows in by_map.values()]
    pairs = np.full((len(OF_PAIRS), len(values), len(values)), np.nan)
    for row, first in enumerate(values):
        for other, second in enumerate(values[:row]):
            draws = [_compare(a, b, coefficient) for a in first for b in second]
            pairs[:, row, other] = pairs[:, other, row] = np.mean(draws, axis=0)
    return pairs


def _compare(first: Importance, second: Importance, coefficient: str) -> tuple[float, ...]:
    agreement = COEFFICIENTS[coefficient](first, second)
    overlap = top_overlap(first, second, top_number(len(first)))
    return agreement.value, agreement.significant, overlap
