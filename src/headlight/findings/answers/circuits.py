"""The heads that stand out in a result of the study of circuits, and its answer."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import NO_INTERVAL, around_first, estimates, undecided
from headlight.findings.rules import RETRIEVES, WORTH_SAYING
from headlight.findings.wording import listed, number, plural
from headlight.vocabulary import head_name

FOUND = 0.5
"""A needle is found where a model says more than this share of its tokens."""

Place = tuple[int, int]
"""A layer and a head."""


def most(scores: xr.DataArray) -> list[tuple[str, float]]:
    """Heads and their scores, from the highest; those without one are last.

    Args:
        scores: over layer and head.
    """
    values = scores.transpose("layer", "head").values
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf), axis=None, kind="stable")
    places = zip(*np.unravel_index(order, values.shape), strict=True)
    layers, heads = scores["layer"].values, scores["head"].values
    return [(head_name(int(layers[row]), int(heads[column])), float(values[row, column]))
            for row, column in places]  # fmt: skip


def joined_heads(
    result: xr.Dataset, path: str, number: int
) -> list[tuple[float, tuple[Place, Place]]]:
    """The pairs of heads with the highest composition scores.

    Args:
        result: of the study.
        path: ``query``, ``key`` or ``value``.
        number: of pairs at most.
    """
    axes = ("layer", "head", "later_layer", "later_head")
    scores = result["composition"].sel(path=path).transpose(*axes)
    values = np.where(np.isfinite(scores.values), scores.values, -np.inf)
    order = np.argsort(-values, axis=None, kind="stable")[:number]
    found = []
    for place in zip(*np.unravel_index(order, values.shape), strict=True):
        if np.isfinite(values[place]):
            one, two, three, four = (
                int(result[axis].values[at]) for axis, at in zip(axes, place, strict=True)
            )
            found.append((float(values[place]), ((one, two), (three, four))))
    return found


OF_WEIGHTS = "which are the same for all texts and need no interval"

SAID = 5
"""Heads that are named at most."""


def circuits(result: xr.Dataset) -> list[str]:
    """Return findings on which heads complete patterns and retrieve facts, and on their weights."""
    said = []
    if "repeated" in result:
        said += _repeated(result)
    if "retrieval" in result:
        said += _retrieval(result)
    if "copying" in result or "matching" in result:
        said.append(_weights(result))
    if "composition" in result:
        said += _composition(result)
    return said


def _repeated(result: xr.Dataset) -> list[str]:
    scores = result.sel(behaviour="prefix_matching")
    said = [
        f"By {measure}, "
        f"{_above(scores.sel(measure=measure), 'repeated', WORTH_SAYING, 'induction head')}."
        for measure in map(str, result["measure"].values)
    ]
    first = result.isel(measure=0).sel(behaviour="previous_token")
    measure = str(first["measure"].values)
    numbers = estimates(first, "repeated")
    if (place := numbers.first()) is not None:
        names = _names(first)
        head = names[int(np.ravel_multi_index(place, numbers.value.shape))]
        of_head = f"{number(float(numbers.value[place]))}{around_first(numbers, number)}"
        said.append(f"Most to the token before goes from {head}: {of_head} by {measure}.")
        said[-1] += undecided(numbers, names, "which head gives it most")
    return said


def _names(result: xr.Dataset) -> list[str]:
    """All heads, in the order of estimates."""
    return [head_name(int(layer), int(head))
            for layer in result["layer"].values for head in result["head"].values]  # fmt: skip


def _retrieval(result: xr.Dataset) -> list[str]:
    recall = result["recall"].values
    found = int((recall > FOUND).sum())
    said = f"The model finds {found} of {plural(len(recall), 'needle')}"
    if not found:
        return [f"{said}: there is nothing to say of which heads retrieve."]
    scores = result.sel(version="paper")
    heads = [
        f"by {measure}, "
        f"{_above(scores.sel(measure=measure), 'retrieval', RETRIEVES, 'retrieval head')}"
        for measure in map(str, result["measure"].values)
    ]
    return [f"{said}; {'; '.join(heads)}."]


def _above(result: xr.Dataset, variable: str, bound: float, name: str) -> str:
    """Return the number of heads that are certainly above a bound, and the first of them."""
    numbers, names = estimates(result, variable), _names(result)
    value = numbers.value.ravel()
    order = np.argsort(-np.where(np.isfinite(value), value, -np.inf), kind="stable")
    verdicts = np.where(np.isfinite(value), numbers.against(bound).ravel(), "")

    def those(verdict: str) -> list[str]:
        return [f"{names[at]} ({number(value[at])})" for at in order if verdicts[at] == verdict]

    certain, open_ones, below = map(those, ("above", "inconclusive", "below"))
    unknown = "" if numbers.known else f": {NO_INTERVAL}"
    if not certain and not open_ones:
        if not below:
            return f"no head has a score as {name}"
        near = undecided(numbers, names, "which head is nearest").strip()
        return f"no head is above {bound:g}; the nearest is {below[0]}" + (
            f"; {near[0].lower()}{near[1:-1]}" if near else ""
        )
    more = f"of {plural(len(open_ones), 'head')} it is inconclusive whether they are above{unknown}"
    first = f"the first being {listed(open_ones[:SAID])}"
    if not certain:
        return f"no head is certainly above {bound:g}; {more}, {first}"
    said = f"{plural(len(certain), name)} above {bound:g}"
    said += f", the first being {listed(certain[:SAID])}" if len(certain) > SAID else (
        f": {listed(certain)}"
    )  # fmt: skip
    return f"{said}; {more}" if open_ones else said


def _weights(result: xr.Dataset) -> str:
    parts = []
    for name, called in (("copying", "copying (OV)"), ("matching", "matching (QK)")):
        if name in result and np.isfinite(result[name]).any():
            head, score = most(result[name])[0]
            middle = float(result[name].median())
            parts.append(
                f"{called} is highest in {head} ({number(score)}; median {number(middle)})"
            )
    return f"Of weights alone, {OF_WEIGHTS}, {' and '.join(parts)}." if parts else (
        "Weights alone say nothing: no matrices of queries, keys or values were found."
    )  # fmt: skip


def _composition(result: xr.Dataset) -> list[str]:
    said = []
    for path in map(str, result["path"].values):
        for score, (writes, reads) in joined_heads(result, path, 1):
            said.append(
                f"{head_name(*reads)} makes its {path} of {head_name(*writes)} ({number(score)})"
            )
    return (
        [f"The strongest compositions, of weights alone, {OF_WEIGHTS}: {'; '.join(said)}."]
        if said
        else []
    )
