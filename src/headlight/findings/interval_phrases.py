"""Phrases of a sentence that say how certain a number is."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.findings.phrases import listed, percent, plural
from headlight.result.estimate import Estimate


def interval(low: float, high: float, written: Callable[[float], str] = percent) -> str:
    """Return an interval in brackets, with a blank before it; empty where there is none."""
    return f" (95%: {written(low)} to {written(high)})" if isfinite(low + high) else ""


NO_INTERVAL = "no interval was computed"
"""Reason for a sentence that says nothing of what it would otherwise compare."""

NAMED = 3
"""Largest number of heads that are named among those that may be first."""


def undecided(numbers: Estimate, names: Sequence[str], which: str, noun: str = "head") -> str:
    """Say, with a blank before it, that the largest number is inconclusive; empty if it is not.

    Args:
        numbers: Numbers of any shape.
        names: Names of the numbers, in their order.
        which: Inconclusive clause, such as ``which head finds most``.
        noun: Noun that is counted where many may be the largest.
    """
    first = numbers.first()
    if first is None or np.isfinite(numbers.value).sum() < 2:
        return ""
    places = [
        int(np.ravel_multi_index(place, numbers.value.shape))
        for place in (first, *numbers.rivals())
    ]
    text = f" {which[0].upper()}{which[1:]} is inconclusive"
    if not np.isfinite(numbers.low[first] + numbers.high[first]):
        return f"{text}: {NO_INTERVAL}."
    ties = [names[place] for place in places]
    return f"{text} between {between(ties, noun)}." if len(ties) > 1 else ""


def beside(
    estimate: Estimate, other: Estimate, called: str, difference: Estimate | None = None
) -> str:
    """Compare a number with another: ``which is more than the best baseline (50%)``.

    Args:
        estimate: Number.
        other: Number to compare it with.
        called: Name of the other number.
        difference: Difference of the two on the same texts, which decides more than their own
            intervals.
    """
    apart = estimate.minus(other) if difference is None else difference
    verdict = str(apart.against(0.0))
    if verdict != "inconclusive":
        return f"which is {'more' if verdict == 'above' else 'less'} than {called}"
    has_ends = np.isfinite(apart.low + apart.high)
    return f"beside {called}; which is more is inconclusive{'' if has_ends else f': {NO_INTERVAL}'}"


def around(estimate: Estimate, written: Any = percent, *, share: bool = True) -> str:
    """Return the interval of one number in brackets; shares end at 0 and 1."""
    low, high = float(estimate.low), float(estimate.high)
    if share and np.isfinite(low + high):
        low, high = max(low, 0.0), min(high, 1.0)
    return interval(low, high, written)


def around_first(
    numbers: Estimate, written: Any = percent, *, share: bool = True, lowest: bool = False
) -> str:
    """Return the interval of the largest number in brackets, with its value by cross-fit.

    The largest of many is too large by chance; see `Estimate.largest`.

    Args:
        numbers: Numbers of any shape.
        written: Function that makes text of a number.
        share: Whether the interval ends at 0 and 1.
        lowest: Whether the smallest number was chosen instead.
    """
    chosen = numbers.times(-1.0) if lowest else numbers
    first = chosen.first()
    brackets = "" if first is None else around(numbers.at(first), written, share=share)
    if not brackets or numbers.value.size == 1 or numbers.ends is not None:
        return brackets
    fitted = float(chosen.largest().value) * (-1 if lowest else 1)
    return f"{brackets[:-1]}; {written(fitted)} by cross-fit)"


def many(verdicts: NDArray[Any], noun: str = "") -> str:
    """Count the certain verdicts: ``7``, or ``7 heads (2 inconclusive)``."""
    open_ones = int((verdicts == "inconclusive").sum())
    above = int((verdicts == "above").sum())
    counted = plural(above, noun) if noun else str(above)
    return f"{counted} ({open_ones} inconclusive)" if open_ones else counted


def between(names: list[str], noun: str = "head") -> str:
    """List names that tie for the first: ``L4H7 and L2H1``, ``L4H7, L2H1 and 5 other heads``."""
    if len(names) <= NAMED:
        return listed(names)
    rest = len(names) - NAMED
    return listed([*names[:NAMED], plural(rest, f"other {noun}")])
