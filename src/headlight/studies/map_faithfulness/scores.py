"""What an order of the tokens of a text is worth, from predictions without some of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from headlight.analysis.classifiers.erasure import Order
from headlight.analysis.classifiers.predictor import Importance, Words
from headlight.measures.agreement import spearman

SHARES = tuple(step / 10 for step in range(1, 10))
"""Of the tokens, as Modarressi et al. (2023) remove them."""

BY_REMOVAL = ("comprehensiveness", "normalised", "sufficiency")
"""Scores of removal, each a question of its own."""

Lost = Float64[np.ndarray, "end share"]
"""What the probability loses without a share of the tokens: the most important, the least."""


def number_of(share: float, tokens: int) -> int:
    """How many tokens a share is, to the nearest; a half is rounded up, and one is the least."""
    return max(1, int(share * tokens + 0.5 + 1e-9))


def removals(order: Order) -> Iterator[Words]:
    """All that has to be removed of a text for `lost`."""
    tokens = list(map(int, order))
    for share in SHARES:
        number = number_of(share, len(tokens))
        yield frozenset(tokens[:number])
        yield frozenset(tokens[-number:])


def lost(order: Order, without: Callable[[Words], float]) -> Lost:
    """What the probability of the target loses as its tokens are removed.

    Args:
        order: of the tokens, the most important first.
        without: the probability without some tokens.
    """
    whole = without(frozenset())
    found = np.array([whole - without(words) for words in removals(order)])
    return found.reshape(len(SHARES), 2).T


def scores_of_removal(
    by_map: Mapping[str, Sequence[Lost]],
) -> Float64[np.ndarray, "score map"]:
    """`BY_REMOVAL` of each map on one text.

    Comprehensiveness is the mean of what is lost over `SHARES` of the most important tokens, and
    sufficiency the same of the least important (the lower the better).  Normalised is
    (comprehensiveness − low) / (high − low), where low and high are the least and the most that any
    known order loses: those of all maps, random ones, and all of these backward; NaN where they are
    the same.

    Args:
        by_map: what is lost by the orders of each map; several of the random one.

    Source: DeYoung et al. (2020), Section 4; Edin et al. (2025), who take for the bounds all orders
        or those of a beam search.
    """
    means = {name: np.array(orders).mean(-1) for name, orders in by_map.items()}  # order, end
    known = np.concatenate([each.ravel() for each in means.values()])
    low, high = known.min(), known.max()
    width = high - low if high > low else np.nan
    mean = np.array([each.mean(0) for each in means.values()])  # map, end
    return np.stack([mean[:, 0], (mean[:, 0] - low) / width, mean[:, 1]])


def correlations(
    by_map: Mapping[str, Sequence[Importance]], references: Sequence[str], *, signed: bool
) -> Float64[np.ndarray, "reference map"]:
    """Spearman's ρ of each map with these on one text; NaN of one with itself.

    Args:
        by_map: what each token is given; several times by the random one, whose mean is taken.
        references: some of the maps.
        signed: whether signs count.
    """
    values = {
        name: [each if signed else np.abs(each) for each in given] for name, given in by_map.items()
    }

    def mean(name: str, reference: str) -> float:
        if name == reference:
            return np.nan
        return float(np.mean([spearman(each, values[reference][0]) for each in values[name]]))

    return np.array(
        [[mean(name, reference) for name in values] for reference in references]
    ).reshape(len(references), len(values))
