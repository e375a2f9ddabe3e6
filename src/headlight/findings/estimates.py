"""Numbers of a result with their intervals, and the words for them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.result.estimate import MOVED, Estimate as Estimate, average as average, estimate_of
from headlight.result.kinds import MULTI_KIND
from headlight.vocabulary import (
    CATEGORIES,
    CATEGORY_LABELS,
    FEWEST_FREEDOM,
    Measure,
    head_name,
    measure_table,
)

TOTALS = ("weight", "norm")
"""Measures of which is compared what goes to each category of keys."""

TOKENS = {"token_share": "key_category", "token_count": "key_group"}
"""Names in results of the number of tokens of a category, and of its axis."""

_LABELS = {"all": "all tokens", **CATEGORY_LABELS, "sink": "sinks"}


def observed(
    result: xr.Dataset,
    name: str,
    dims: tuple[str, ...] = ("layer", "head"),
    **labels: str | int | np.integer[Any],
) -> NDArray[np.float64]:
    """A variable at the given labels, as an array over ``dims``; all NaN if it is not there."""
    places = places_of(result, name, labels)
    if places is None:
        return np.full(tuple(result.sizes.get(dim, 0) for dim in dims), np.nan)
    values = result.variables[name].isel(places).transpose(*dims).values
    return np.asarray(values, dtype=np.float64)


def places_of(
    result: xr.Dataset, name: str, labels: Mapping[str, str | int | np.integer[Any]]
) -> dict[str, int] | None:
    """Return where labels are along the axes of a variable; None if it, or one, is missing."""
    variable = result.variables.get(name)
    if variable is None:
        return None
    # By places and not by labels: a report reads hundreds of arrays.
    places: dict[str, int] = {}
    for dim, label in labels.items():
        if dim not in variable.dims:
            return None
        values = result.variables[dim].values if dim in result.variables else result[dim].values
        at = np.flatnonzero(values == label)
        if not at.size:
            return None
        places[dim] = int(at[0])
    return places


def category_label(result: xr.Dataset, category: str, *, attending: bool = False) -> str:
    """Return the name of a token category in a text, e.g. ``[SEP]``.

    A result may bring its tokenizer's own names as JSON in the attribute ``category_names``, and in
    ``query_category_names`` those of the attending text, where that is another.

    Args:
        result: of any study.
        category: of tokens.
        attending: whether they attend, and are not attended to.
    """
    default = result.attrs.get("category_names", "{}")
    names = json.loads(result.attrs.get("query_category_names", default) if attending else default)
    return str(names.get(category, _LABELS.get(category, category)))


def unit_of_keys(result: xr.Dataset) -> str:
    """Return the unit of an attended position: ``token``, ``frame`` of sound, or ``position``."""
    if "pictures" in result.attrs:
        return "position"
    is_audio = "recordings" in result.attrs and result.attrs.get("kind") != "decoder"
    return "frame" if is_audio else "token"


def occurs(result: xr.Dataset, category: str) -> bool:
    """Whether any attended token was of the category, as far as the result says."""
    counts = [observed(result, name, (), **{dim: category}) for name, dim in TOKENS.items()]
    return not any(float(count) == 0 for count in counts)


def name_of(result: xr.Dataset, layer: int, head: int | None = None) -> str:
    """The name of a head or a layer, with its kind where a result shows several kinds."""
    name = f"layer {layer}" if head is None else head_name(layer, head)
    return f"{result.attrs['kind']} {name}" if MULTI_KIND in result.attrs else name


def share(
    result: xr.Dataset, measure: str, category: str, query: str = "all"
) -> NDArray[np.float64]:
    """The share of a measure that goes to a token category, [layer, head]; NaN without any."""
    if not occurs(result, category):
        return np.full((result.sizes["layer"], result.sizes["head"]), np.nan)
    return observed(result, "share", measure=measure, query_category=query, key_category=category)


def out_of_reach(result: xr.Dataset, query: str = "all") -> NDArray[np.float64]:
    """The share of the weight that cannot change the head's output, [layer, head].

    It is what a row of effective attention lacks (Brunner et al. 2020, Eq. 9).
    """
    weight, effective = (
        np.stack([share(result, name, category, query) for category in CATEGORIES])
        for name in ("weight", "effective")
    )
    both_observed = np.isfinite(weight) & np.isfinite(effective)
    missing = np.where(both_observed, weight - effective, 0.0).sum(axis=0)
    return np.asarray(np.where(both_observed.any(axis=0), missing, np.nan))


def shares_by_key(result: xr.Dataset, measure: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return categories of keys, sinks being one where they were looked for, and what each gets.

    Args:
        result: a survey.
        measure: of `TOTALS`.

    Returns:
        their names; and of all that a head gives the share of each, [layer, head, category].
    """
    if "group_total" in result:
        dim, name, labels = "key_group", "group_total", {}
    else:
        dim, name, labels = "key_category", "total", {"query_category": "all"}
    totals = observed(result, name, ("layer", "head", dim), measure=measure, **labels)
    whole = np.nansum(totals, axis=-1, keepdims=True)
    shares = np.divide(totals, whole, out=np.full_like(totals, np.nan), where=whole > 0)
    return [str(each) for each in result[dim].values], np.asarray(shares)


def surveyed(result: xr.Dataset, *, per_head: bool = True) -> list[Measure]:
    """The measures of heads, or of whole layers, that a survey holds, in the order of the table."""
    names = result["measure"].values if "measure" in result.coords else ()
    return [row for row in measure_table() if row.name in names and row.per_head == per_head]


def percent(part: float) -> str:
    """A share as a percentage for a sentence: ``61%``, ``0.4%``, ``under 0.1%``."""
    value = 100 * part
    if 0 < value < 0.1:
        return "under 0.1%"
    return f"{value:.1f}%" if 0 < abs(value) < 1 else f"{value:.0f}%"


def layer_list(layers: Iterable[int]) -> str:
    """Layers in words: ``layer 3``, ``layers 2, 4 and 6 to 9``."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(words) == 1:
        return f"layer{'s' if len(runs[0]) > 1 else ''} {words[0]}"
    return f"layers {listed(words)}"


def listed(parts: Sequence[str]) -> str:
    """Words after each other: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def plural(count: int, noun: str) -> str:
    """A number with its noun: ``1 text``, ``1,234 texts``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    """A number with two digits that count: ``0.31``, ``−0.05``, ``0.0042``, ``12``."""
    return f"{value:.2g}".replace("-", "\u2212") if abs(value) < 10 else f"{value:,.0f}"


def seconds(value: float) -> str:
    """A time for a sentence: ``0.08 s``."""
    return f"{value:.2f} s"


def interval(low: float, high: float, written: Callable[[float], str] = percent) -> str:
    """An interval in brackets, with a blank before it; nothing where there is none."""
    return f" (95%: {written(low)} to {written(high)})" if isfinite(low + high) else ""


ENDS = ("", "_low", "_high")

NO_INTERVAL = "no interval was computed"
"""Reason for a sentence that says nothing of what it would otherwise compare."""

NAMED = 3
"""Heads that are named at most, of those that may be first."""


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
    estimate = None if places is None else estimate_of(result, name, dims, places)
    if estimate is not None:
        return estimate
    return Estimate.with_ends(*(observed(result, name + end, dims, **labels) for end in ENDS))


def unreached(result: xr.Dataset) -> Estimate:
    """Return the share of the weight that cannot change the head's output, [layer, head]."""
    dims, value = ("layer", "head"), out_of_reach(result)
    if f"share{MOVED}" not in result.variables:
        return Estimate.with_ends(value)
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


def pairwise(result: xr.Dataset, name: str, pairs: Sequence[tuple[str, str]], dim: str) -> Estimate:
    """Return what a matrix over ``dim`` and ``other`` says of pairs, one number each."""
    labels = [result[axis].values.tolist() for axis in (dim, "other")]
    rows, columns = ([of_dim.index(pair[n]) for pair in pairs] for n, of_dim in enumerate(labels))
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
    places = [
        int(np.ravel_multi_index(each, numbers.value.shape)) for each in (first, *numbers.rivals())
    ]
    text = f" {which[0].upper()}{which[1:]} is inconclusive"
    if not np.isfinite(numbers.low[first] + numbers.high[first]):
        return f"{text}: {NO_INTERVAL}."
    ties = [names[place] for place in places]
    return f"{text} between {between(ties, noun)}." if len(ties) > 1 else ""


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
    has_ends = np.isfinite(apart.low + apart.high)
    return f"beside {called}; which is more is inconclusive{'' if has_ends else f': {NO_INTERVAL}'}"


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
    counted = plural(above, noun) if noun else str(above)
    return f"{counted} ({open_ones} inconclusive)" if open_ones else counted


def between(names: list[str], noun: str = "head") -> str:
    """List names that tie for the first: ``L4H7 and L2H1``, ``L4H7, L2H1 and 5 other heads``."""
    if len(names) <= NAMED:
        return listed(names)
    rest = len(names) - NAMED
    return listed([*names[:NAMED], plural(rest, f"other {noun}")])
