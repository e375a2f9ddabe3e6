"""How much an order of words matters for a prediction: one text, one order, one way to remove."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float64

from headlight.analysis.classifiers.erasure import Order, Probabilities
from headlight.analysis.classifiers.predictor import Words

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Of the words, as in ERASER (DeYoung et al. 2020)."""

STEPS = tuple(step / 10 for step in range(11))
"""Shares of the words of the curves."""

TOTALS = (
    "comprehensiveness", "sufficiency", "deletion", "insertion", "first_flip", "share_to_flip",
)  # fmt: skip
"""One number of each text."""

Row = Float64[np.ndarray, " number"]
SIZE = len(TOTALS) + 2 * len(SHARES) + 2 * len(STEPS)


def number_of(share: float, words: int) -> int:
    """How many words a share is: rounded up, so that some words are at least one."""
    return math.ceil(share * words - 1e-9)


def removals(order: Order) -> Iterator[Words]:
    """All that has to be removed of a text for `metrics`."""
    words = list(map(int, order))
    yield frozenset()
    numbers = {number_of(share, len(words)) for share in (*SHARES, *STEPS)}
    for number in sorted(numbers | {1}):
        yield frozenset(words[:number])
        yield frozenset(words[number:])


def metrics(order: Order, without: Callable[[Words], Probabilities]) -> Row:
    """All numbers of a prediction: `TOTALS`, then by share and by step; see `parts`.

    With p the probability of the class that the model chooses given the whole text, and of x
    the words by their order:

    * comprehensiveness: p(x) − p(x without the first words), the mean over `SHARES`;
    * sufficiency: p(x) − p(the first words alone), the mean over `SHARES`;
    * deletion: the area under p(x without the first words) over `STEPS`;
    * insertion: the area under p(the first words alone) over `STEPS`;
    * first flip: whether the class changes without the first word;
    * share to flip: the smallest share of `STEPS` without which it changes; 1 if there is none.

    Args:
        order: of the words, the most important first.
        without: the probabilities of the classes without some words.

    Source: DeYoung et al. (2020), Section 4 and its AOPC; Petsiuk et al. (2018) for the areas;
        Serrano and Smith (2019) for the changes of the class.
    """
    words = list(map(int, order))
    whole = without(frozenset())
    chosen = int(whole.argmax())

    def left(share: float) -> Probabilities:
        return without(frozenset(words[: number_of(share, len(words))]))

    def alone(share: float) -> Probabilities:
        return without(frozenset(words[number_of(share, len(words)) :]))

    comprehensive = np.array([whole[chosen] - left(share)[chosen] for share in SHARES])
    sufficient = np.array([whole[chosen] - alone(share)[chosen] for share in SHARES])
    deleted = np.array([left(share)[chosen] for share in STEPS])
    inserted = np.array([alone(share)[chosen] for share in STEPS])
    flipped = [share for share in STEPS if int(left(share).argmax()) != chosen]
    totals = [
        comprehensive.mean(),
        sufficient.mean(),
        np.trapezoid(deleted, STEPS),
        np.trapezoid(inserted, STEPS),
        float(int(without(frozenset(words[:1])).argmax()) != chosen),
        min(flipped, default=1.0),
    ]
    return np.concatenate([totals, comprehensive, sufficient, deleted, inserted])


def parts(rows: Float64[np.ndarray, "*cell number"]) -> dict[str, Float64[np.ndarray, "*cell _"]]:
    """The numbers of `metrics`, or of their means, by name."""
    ends = np.cumsum([len(TOTALS), len(SHARES), len(SHARES), len(STEPS)])
    names = ("totals", "comprehensiveness", "sufficiency", "deletion", "insertion")
    return dict(zip(names, np.split(rows, ends, axis=-1), strict=True))
