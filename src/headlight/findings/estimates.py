"""Numbers with their intervals, as sentences compare them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.observed import average, observed, out_of_reach
from headlight.findings.rules import chosen_ends, decided, rivals
from headlight.findings.wording import interval, listed, percent, plural
from headlight.vocabulary import CATEGORIES, FEWEST_FREEDOM

ENDS = ("", "_low", "_high")

NO_INTERVAL = "no interval was computed"
"""Why a sentence says nothing of what it would otherwise compare."""

NAMED = 3
"""Heads that are named at most, of those that may be first."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Numbers of one shape, with the ends of their intervals of 95%; NaN where there are none.

    Means and differences are compared by the ends alone: the interval of a mean over heads is the
    mean of theirs, and that of a difference goes from the lower end of one less the upper end of
    the other.  As errors add up to no more than their sum, it is as wide as it has to be or wider.
    """

    value: Array
    low: Array
    high: Array

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.low + self.high).any())

    def at(self, place: Any) -> "Estimates":
        """A part, or one number."""
        return _arrays(*(each[place] for each in (self.value, self.low, self.high)))

    def mean(self, axis: int | None = None) -> "Estimates":
        """Over all that were observed."""
        return _arrays(*(average(each, axis) for each in (self.value, self.low, self.high)))

    def minus(self, other: "Estimates") -> "Estimates":
        """The difference."""
        return _arrays(self.value - other.value, self.low - other.high, self.high - other.low)

    def times(self, factor: Any) -> "Estimates":
        """Multiplied; by a negative number the ends change places."""
        low, high = self.low * factor, self.high * factor
        return _arrays(self.value * factor, np.minimum(low, high), np.maximum(low, high))

    def chosen(self, candidates: int, units: int) -> "Estimates":
        """Return numbers that were chosen among several, with the ends of `chosen_ends`."""
        ends = chosen_ends(self.value, self.low, self.high, candidates=candidates, units=units)
        return _arrays(self.value, *ends)

    def compared(self, other: float) -> NDArray[Any]:
        """`headlight.findings.rules.decided` of each; of a text alone what was seen in it."""
        if self.known:
            verdict = self.against(other)
        else:
            verdict = np.where(self.value > other, "above", "below")
        return np.where(np.isfinite(self.value), verdict, "")

    def against(self, other: "Estimates | float") -> NDArray[Any]:
        """`headlight.findings.rules.decided` of each; nothing is without an interval."""
        apart = self.minus(other) if isinstance(other, Estimates) else self
        bound = 0.0 if isinstance(other, Estimates) else other
        return np.asarray(decided(apart.value, apart.low, apart.high, bound))

    def first(self) -> tuple[int, ...] | None:
        """Where the largest value stands; None where nothing was observed."""
        if not np.isfinite(self.value).any():
            return None
        return tuple(map(int, np.unravel_index(np.nanargmax(self.value), self.value.shape)))

    def rivals(self) -> list[tuple[int, ...]]:
        """Other places at which the largest value may be, the next largest first."""
        first = self.first()
        if first is None:
            return []
        flat = (each.ravel() for each in (self.value, self.low, self.high))
        found = rivals(*flat, first=int(np.ravel_multi_index(first, self.value.shape)))
        return [tuple(map(int, np.unravel_index(at, self.value.shape))) for at in found]


def _arrays(*numbers: Any) -> Estimates:
    """Of arrays, or of single numbers, which numpy hands back as such."""
    return Estimates(*map(np.asarray, numbers))


def estimates(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> Estimates:
    """A variable with its ``_low`` and ``_high``, as `observed` reads them."""
    return Estimates(*(observed(result, name + end, dims, **labels) for end in ENDS))


def unreached(result: xr.Dataset) -> Estimates:
    """The share of the weight that cannot change the head's output, [layer, head].

    Its error is what groups of texts move it by.
    """
    from scipy.special import stdtrit

    value = out_of_reach(result)
    dims = ("layer", "head")

    def each(name: str, *before: str) -> Array:
        weight, effective = (
            np.stack([observed(result, name, (*before, *dims), measure=by, key_category=category)
                      for category in CATEGORIES])
            for by in ("weight", "effective")
        )  # fmt: skip
        together: Array = np.stack([weight, effective])
        return together

    moved, freedom = each("share_by_group", "group"), each("share_freedom")
    if not moved.shape[2]:
        return Estimates(value, *(np.full_like(value, np.nan) for _ in range(2)))
    error = np.sqrt((np.nansum(moved[0] - moved[1], axis=0) ** 2).sum(0))
    fewest = np.where(freedom > 0, freedom, np.inf).min((0, 1))
    known = np.isfinite(fewest) & (fewest >= FEWEST_FREEDOM)
    half = stdtrit(np.where(known, fewest, np.nan), 0.975) * error
    return Estimates(value, value - half, value + half)


def means(result: xr.Dataset, name: str, *dims: str) -> Estimates:
    """A variable over these axes, and the mean over all others; the ends are averaged too."""
    kept = [result[name + end] if name + end in result else result[name] * np.nan for end in ENDS]
    return Estimates(*(
        np.asarray(each.mean([dim for dim in each.dims if dim not in dims]).transpose(*dims),
                   dtype=np.float64)
        for each in kept
    ))  # fmt: skip


def over_seeds(values: Array) -> Estimates:
    """The mean of models that differ in their seed, by Student's t; of one without an interval."""
    from scipy.special import stdtrit

    mean, half = np.mean(values), np.nan
    if len(values) > 1:
        half = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values))
    return _arrays(mean, mean - half, mean + half)


def pairwise(
    result: xr.Dataset, name: str, pairs: Sequence[tuple[str, str]], dim: str
) -> Estimates:
    """What a matrix over ``dim`` and ``other`` says of pairs, one number each."""
    rows = [estimates(result, name, (), **{dim: one, "other": other}) for one, other in pairs]
    return Estimates(*(np.array([getattr(row, end) for row in rows], dtype=np.float64)
                       for end in ("value", "low", "high")))  # fmt: skip


def undecided(numbers: Estimates, names: Sequence[str], which: str, noun: str = "head") -> str:
    """A sentence where it is inconclusive which number is the largest, with a blank before it.

    Args:
        numbers: of any shape.
        names: of the numbers, in their order.
        which: what is inconclusive, such as ``which head finds most``.
        noun: what is counted where many may be the largest.
    """
    first = numbers.first()
    if first is None or np.isfinite(numbers.value).sum() < 2:
        return ""
    places = [int(np.ravel_multi_index(each, numbers.value.shape))
              for each in (first, *numbers.rivals())]  # fmt: skip
    said = f" {which[0].upper()}{which[1:]} is inconclusive"
    if not np.isfinite(numbers.low[first] + numbers.high[first]):
        return f"{said}: {NO_INTERVAL}."
    found = [names[place] for place in places]
    return f"{said} between {between(found, noun)}." if len(found) > 1 else ""


def beside(
    one: Estimates, other: Estimates, called: str, difference: Estimates | None = None
) -> str:
    """How a number stands to another: ``which is more than the best baseline (50%)``.

    Args:
        one: The number.
        other: What it stands beside.
        called: What that is called.
        difference: Of the two on the same texts, which decides more than their own intervals.
    """
    apart = one.minus(other) if difference is None else difference
    verdict = str(apart.against(0.0))
    if verdict != "inconclusive":
        return f"which is {'more' if verdict == 'above' else 'less'} than {called}"
    known = np.isfinite(apart.low + apart.high)
    return f"beside {called}; which is more is inconclusive{'' if known else f': {NO_INTERVAL}'}"


def around(one: Estimates, written: Any = percent, *, share: bool = True) -> str:
    """The interval of one number in brackets; shares end at 0 and 1."""
    low, high = float(one.low), float(one.high)
    if share and np.isfinite(low + high):
        low, high = max(low, 0.0), min(high, 1.0)
    return interval(low, high, written)


def many(verdicts: NDArray[Any], noun: str = "") -> str:
    """How many are certainly so: ``7``, or ``7 heads (2 inconclusive)``."""
    open_ones = int((verdicts == "inconclusive").sum())
    above = int((verdicts == "above").sum())
    said = plural(above, noun) if noun else str(above)
    return f"{said} ({open_ones} inconclusive)" if open_ones else said


def between(names: list[str], noun: str = "head") -> str:
    """Those of which one is first: ``L4H7 and L2H1``, ``L4H7, L2H1, L0H3 and 5 other heads``."""
    if len(names) <= NAMED:
        return listed(names)
    rest = len(names) - NAMED
    return listed([*names[:NAMED], plural(rest, f"other {noun}")])
