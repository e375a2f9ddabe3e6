"""Sentences of the study of circuits: heads that complete patterns and retrieve facts."""

import numpy as np
import xarray as xr

from headlight.findings.candidates import WORTH_SAYING, above_others, differ
from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around_first, undecided
from headlight.findings.phrases import listed, number, plural
from headlight.findings.thresholds import RETRIEVES
from headlight.vocabulary import head_name

FOUND = 0.5
"""A needle is found where a model says more than this share of its tokens."""

Place = tuple[int, int]
"""A layer and a head."""


def most(scores: xr.DataArray) -> list[tuple[str, float]]:
    """Return heads and their scores, from the highest; heads without a score are last.

    Args:
        scores: Scores over layer and head.
    """
    values = scores.transpose("layer", "head").values
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf), axis=None, kind="stable")
    places = zip(*np.unravel_index(order, values.shape), strict=True)
    layers, heads = scores["layer"].values, scores["head"].values
    return [
        (head_name(int(layers[row]), int(heads[column])), float(values[row, column]))
        for row, column in places
    ]


def joined_heads(
    result: xr.Dataset, path: str, number: int
) -> list[tuple[float, tuple[Place, Place]]]:
    """Return the pairs of heads with the highest composition scores.

    Args:
        result: Result of the study.
        path: ``query``, ``key`` or ``value``.
        number: Largest number of pairs.
    """
    axes = ("layer", "head", "later_layer", "later_head")
    scores = result["composition"].sel(path=path).transpose(*axes)
    values = np.where(np.isfinite(scores.values), scores.values, -np.inf)
    order = np.argsort(-values, axis=None, kind="stable")[:number]
    pairs = []
    for place in zip(*np.unravel_index(order, values.shape), strict=True):
        if np.isfinite(values[place]):
            one, two, three, four = (
                int(result[axis].values[at]) for axis, at in zip(axes, place, strict=True)
            )
            pairs.append((float(values[place]), ((one, two), (three, four))))
    return pairs


OF_WEIGHTS = "which are the same for all texts and need no interval"

CIRCUIT_ANSWERS = 5
"""Largest number of heads that are named."""


def circuits(result: xr.Dataset) -> list[str]:
    """Return findings on which heads complete patterns and retrieve facts, and on their weights."""
    sentences = []
    if "repeated" in result:
        sentences += _repeated(result)
    if "retrieval" in result:
        sentences += _retrieval(result)
    if "copying" in result or "matching" in result:
        sentences.append(_weights(result))
    if "composition" in result:
        sentences += _composition(result)
    return sentences


def _repeated(result: xr.Dataset) -> list[str]:
    scores = result.sel(behaviour="prefix_matching")
    sentences = [
        f"By {measure}, "
        f"{_above(scores.sel(measure=measure), 'repeated', WORTH_SAYING, 'induction head')}."
        for measure in map(str, result["measure"].values)
    ]
    first = result.isel(measure=0).sel(behaviour="previous_token")
    measure = str(first["measure"].values)
    numbers = estimates(first, "repeated")
    if (place := numbers.first()) is not None and above_others(numbers)[place]:
        names = _names(first)
        head = names[int(np.ravel_multi_index(place, numbers.value.shape))]
        of_head = f"{number(float(numbers.value[place]))}{around_first(numbers, number)}"
        sentences.append(f"{head} attends most to the token before: {of_head} by {measure}.")
        sentences[-1] += undecided(numbers, names, "which head gives it most")
    return sentences


def _names(result: xr.Dataset) -> list[str]:
    """Return the names of all heads, in the order of estimates."""
    return [
        head_name(int(layer), int(head))
        for layer in result["layer"].values
        for head in result["head"].values
    ]


def _retrieval(result: xr.Dataset) -> list[str]:
    recall = result["recall"].values
    retrieved = int((recall > FOUND).sum())
    sentence = f"The model finds {retrieved} of {plural(len(recall), 'needle')}"
    if not retrieved:
        return [f"{sentence}: there is nothing to say of which heads retrieve."]
    scores = result.sel(version="paper")
    heads = [
        f"by {measure}, "
        f"{_above(scores.sel(measure=measure), 'retrieval', RETRIEVES, 'retrieval head')}"
        for measure in map(str, result["measure"].values)
    ]
    return [f"{sentence}; {'; '.join(heads)}."]


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
    first = f"the first being {listed(open_ones[:CIRCUIT_ANSWERS])}"
    if not certain:
        return f"no head is certainly above {bound:g}; {more}, {first}"
    sentence = f"{plural(len(certain), name)} above {bound:g}"
    first_few = listed(certain[:CIRCUIT_ANSWERS])
    sentence += (
        f", the first being {first_few}"
        if len(certain) > CIRCUIT_ANSWERS
        else (f": {listed(certain)}")
    )
    return f"{sentence}; {more}" if open_ones else sentence


def _weights(result: xr.Dataset) -> str:
    parts = []
    for name, called in (("copying", "copying (OV)"), ("matching", "matching (QK)")):
        if name in result and np.isfinite(result[name]).any():
            head, score = most(result[name])[0]
            middle = float(result[name].median())
            of_head = f"{called} is highest in {head} ({number(score)}; median {number(middle)})"
            alike = f"{called} is alike in all heads ({number(score)} at most)"
            one = result[name].size == 1 or differ(score, middle)
            parts.append(of_head if one else alike)
    return (
        f"From the weights alone, {OF_WEIGHTS}, {' and '.join(parts)}."
        if parts
        else (
            "No scores from the weights alone: no matrices of queries, keys or values were found."
        )
    )


def _composition(result: xr.Dataset) -> list[str]:
    compositions = []
    for path in map(str, result["path"].values):
        for score, (writes, reads) in joined_heads(result, path, 1):
            compositions.append(
                f"{head_name(*reads)} makes its {path} of {head_name(*writes)} ({number(score)})"
            )
    return (
        [f"The strongest compositions, of weights alone, {OF_WEIGHTS}: {'; '.join(compositions)}."]
        if compositions
        else []
    )
