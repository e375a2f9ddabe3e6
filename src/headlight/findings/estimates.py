"""Numbers with their intervals, as sentences compare them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.observed import observed, out_of_reach, places_of
from headlight.findings.wording import interval, listed, percent, plural
from headlight.result.estimate import MOVED, Estimate as Estimate, estimate_of
from headlight.vocabulary import CATEGORIES, FEWEST_FREEDOM

ENDS = ("", "_low", "_high")

NO_INTERVAL = "no interval was computed"
"""Why a sentence says nothing of what it would otherwise compare."""

NAMED = 3
"""Heads that are named at most, of those that may be first."""

Array = NDArray[np.float64]


def estimates(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> Estimate:
    """Return a variable at these labels with what its interval is computed from.

    Of a result that holds the ends ``_low`` and ``_high`` alone, with these; all NaN where the
    result has no such variable or label, as of `observed`.

    Args:
        result: of any study.
        name: of the variable.
        dims: its axes in this order.
        labels: along its other axes.
    """
    places = places_of(result, name, labels)
    known = None if places is None else estimate_of(result, name, dims, places)
    if known is not None:
        return known
    return Estimate.with_ends(*(observed(result, name + end, dims, **labels) for end in ENDS))


def unreached(result: xr.Dataset) -> Estimate:
    """Return the share of the weight that cannot change the head's output, [layer, head]."""
    dims, value = ("layer", "head"), out_of_reach(result)
    if f"share{MOVED}" not in result.variables:
        return Estimate.with_ends(value, *(np.full_like(value, np.nan) for _ in range(2)))
    weights, effective = (
        estimates(result, "share", ("key_category", *dims), measure=by, query_category="all")
        for by in ("weight", "effective")
    )
    apart = weights.minus(effective).at(np.isin(result["key_category"], CATEGORIES))
    part = apart.mean(0).times(np.maximum(np.isfinite(apart.value).sum(0), 1))
    return replace(part, value=value)


def by_length(result: xr.Dataset) -> Estimate:
    """Return the correlation of raw and effective attention by the length of texts.

    Its ends are those of Student's t over the texts of each length.
    """
    from scipy.special import stdtrit

    name, dims = "effective_correlation", ("length",)
    value, deviation, count = (observed(result, name + end, dims) for end in ("", "_std", "_count"))
    freedom = np.where(count - 1 >= FEWEST_FREEDOM, count - 1, np.nan)
    half = stdtrit(freedom, 0.975) * deviation / np.sqrt(freedom)
    return Estimate.with_ends(value, np.maximum(value - half, -1), np.minimum(value + half, 1))


def means(result: xr.Dataset, name: str, *dims: str) -> Estimate:
    """Return a variable over these axes, and the mean over all others."""
    others = [str(dim) for dim in result[name].dims if dim not in dims]
    every = estimates(result, name, (*dims, *others))
    return every.mean(tuple(range(len(dims), len(dims) + len(others)))) if others else every


def over_seeds(values: Array) -> Estimate:
    """The mean of models that differ in their seed, by Student's t; of one without an interval."""
    from scipy.special import stdtrit

    mean, half = np.mean(values), np.nan
    if len(values) > 1:
        half = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values))
    return Estimate.with_ends(mean, mean - half, mean + half)


def pairwise(result: xr.Dataset, name: str, pairs: Sequence[tuple[str, str]], dim: str) -> Estimate:
    """Return what a matrix over ``dim`` and ``other`` says of pairs, one number each."""
    labels = [result[axis].values.tolist() for axis in (dim, "other")]
    rows, columns = ([known.index(pair[n]) for pair in pairs] for n, known in enumerate(labels))
    return estimates(result, name, (dim, "other")).at((rows, columns))


def undecided(numbers: Estimate, names: Sequence[str], which: str, noun: str = "head") -> str:
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


def beside(one: Estimate, other: Estimate, called: str, difference: Estimate | None = None) -> str:
    """Compare a number with another: ``which is more than the best baseline (50%)``.

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


def around(one: Estimate, written: Any = percent, *, share: bool = True) -> str:
    """The interval of one number in brackets; shares end at 0 and 1."""
    low, high = float(one.low), float(one.high)
    if share and np.isfinite(low + high):
        low, high = max(low, 0.0), min(high, 1.0)
    return interval(low, high, written)


def around_first(
    numbers: Estimate, written: Any = percent, *, share: bool = True, lowest: bool = False
) -> str:
    """Return the interval of the largest number in brackets, with its value by cross-fit.

    The largest of many is too large by chance; see `Estimate.largest`.

    Args:
        numbers: of any shape.
        written: makes text of a number.
        share: whether the interval ends at 0 and 1.
        lowest: whether it is the smallest that was chosen.
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
    said = plural(above, noun) if noun else str(above)
    return f"{said} ({open_ones} inconclusive)" if open_ones else said


def between(names: list[str], noun: str = "head") -> str:
    """List names that tie for the first: ``L4H7 and L2H1``, ``L4H7, L2H1 and 5 other heads``."""
    if len(names) <= NAMED:
        return listed(names)
    rest = len(names) - NAMED
    return listed([*names[:NAMED], plural(rest, f"other {noun}")])
