"""Sentences of the study of circuits: heads that complete patterns and retrieve facts."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr

from headlight.findings.candidates import WORTH_SAYING, above_others, differ
from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around_first, undecided
from headlight.findings.phrases import listed, number, plural
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences, write
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
            layer, head, later_layer, later_head = (
                int(result[axis].values[at]) for axis, at in zip(axes, place, strict=True)
            )
            pairs.append((float(values[place]), ((layer, head), (later_layer, later_head))))
    return pairs


CIRCUIT_ANSWERS = 5
"""Largest number of heads that are named."""


def circuits(result: xr.Dataset) -> list[str]:
    """Return findings on which heads complete patterns and retrieve facts, and on their weights."""
    return sentences(result, [*_rules_of_induction(result), *_RULES])


# ---------------------------------------------------------------- scores above a bound


def _heads_above(result: xr.Dataset, variable: str, bound: float, name: str) -> str:
    """Return the clause on how many heads are certainly above a bound, and which are the first."""
    numbers, names = estimates(result, variable), _names(result)
    value = numbers.value.ravel()
    order = np.argsort(-np.where(np.isfinite(value), value, -np.inf), kind="stable")
    verdicts = np.where(np.isfinite(value), numbers.against(bound).ravel(), "")
    heads = {
        verdict: [f"{names[at]} ({number(value[at])})" for at in order if verdicts[at] == verdict]
        for verdict in ("above", "inconclusive", "below")
    }
    above, inconclusive, below = heads.values()
    near = undecided(numbers, names, "which head is nearest").strip()
    values = {
        "name": name,
        "a_name": f"{'an' if name[0] in 'aeiou' else 'a'} {name}",
        "bound": bound,
        "above": plural(len(above), name),
        "few": listed(above) if len(above) <= CIRCUIT_ANSWERS else None,
        "first_above": listed(above[:CIRCUIT_ANSWERS]) if len(above) > CIRCUIT_ANSWERS else None,
        "maybe": plural(len(inconclusive), "head") if inconclusive else None,
        "first_maybe": listed(inconclusive[:1]),
        "why": None if numbers.known or not inconclusive else NO_INTERVAL,
        "nearest": below[0] if below else None,
        "near": f"{near[0].lower()}{near[1:-1]}" if near else None,
    }
    case = next((verdict for verdict, named in heads.items() if named), "nothing")
    return write(result, _ABOVE[case], values)


_ABOVE = {
    "above": "{above} above {bound:g}[: {few}][, the first being {first_above}]"
    "[; of {maybe} it is inconclusive whether they are above][: {why}]",
    "inconclusive": "no head is certainly {a_name} (above {bound:g}); of {maybe} that is "
    "inconclusive[: {why}], the first being {first_maybe}",
    "below": "no head is {a_name} (above {bound:g}); the nearest is {nearest}[; {near}]",
    "nothing": "no head has a score as {name}",
}
"""Clauses on scores above a bound, by the highest verdict of any head."""


def _names(result: xr.Dataset) -> list[str]:
    """Return the names of all heads, in the order of estimates."""
    return [
        head_name(int(layer), int(head))
        for layer in result["layer"].values
        for head in result["head"].values
    ]


# ---------------------------------------------------------------- patterns and facts


def _rules_of_induction(result: xr.Dataset) -> Iterator[Rule]:
    """Yield a rule for each measure by which heads may complete patterns."""
    if "repeated" in result:
        for measure in map(str, result["measure"].values):
            yield Rule(
                topic=f"induction by {measure}",
                evidence=partial(_induction, measure=measure),
                templates={HOLDS: "By {measure}, {heads}."},
            )


def _induction(result: xr.Dataset, measure: str) -> Evidence:
    scores = result.sel(behaviour="prefix_matching", measure=measure)
    heads = _heads_above(scores, "repeated", WORTH_SAYING, "induction head")
    return Evidence(values={"measure": measure, "heads": heads})


def _previous_token(result: xr.Dataset) -> Evidence | None:
    if "repeated" not in result:
        return None
    by_head = result.isel(measure=0).sel(behaviour="previous_token")
    numbers = estimates(by_head, "repeated")
    place = numbers.first()
    if place is None or not above_others(numbers)[place]:
        return None
    names = _names(by_head)
    return Evidence(
        values={
            "head": names[int(np.ravel_multi_index(place, numbers.value.shape))],
            "score": numbers.at(place),
            "all": around_first(numbers, number),
            "measure": str(by_head["measure"].values),
            "ties": undecided(numbers, names, "which head gives it most"),
        }
    )


def _retrieval(result: xr.Dataset) -> Evidence | None:
    if "retrieval" not in result:
        return None
    recall = result["recall"].values
    retrieved = int((recall > FOUND).sum())
    values = {"retrieved": retrieved, "needles": plural(len(recall), "needle")}
    if not retrieved:
        return Evidence(values=values, template="nothing")
    heads = [
        f"by {measure}, "
        + _heads_above(
            result.sel(version="paper", measure=measure), "retrieval", RETRIEVES, "retrieval head"
        )
        for measure in map(str, result["measure"].values)
    ]
    return Evidence(values={**values, "heads": "; ".join(heads)})


# ---------------------------------------------------------------- weights alone


def _weights(result: xr.Dataset) -> Evidence | None:
    if "copying" not in result and "matching" not in result:
        return None
    clauses = []
    for name, does in _OF_WEIGHTS.items():
        if name in result and np.isfinite(result[name]).any():
            head, score = most(result[name])[0]
            median = float(result[name].median())
            stands_out = result[name].size == 1 or differ(score, median)
            template = _HIGHEST if stands_out else _ALIKE
            values = {"does": does, "head": head, "score": score, "median": median}
            clauses.append(write(result, template, values))
    values = {"scores": " ".join(clauses)}
    return Evidence(values=values, template=HOLDS if clauses else "nothing")


_OF_WEIGHTS = {
    "copying": "copies the tokens that it attends to",
    "matching": "attends to tokens like its own",
}
"""Scores of weights, and what a head with a high one does."""

_HIGHEST = (
    "By its parameters alone, {head} is the head that most {does}: {score:number} on a scale of "
    "\u22121 to 1, the median head {median:number}."
)
_ALIKE = (
    "By parameters alone, no head stands out as one that {does}: {score:number} at most on a scale "
    "of \u22121 to 1."
)


def _composition(result: xr.Dataset) -> Evidence | None:
    if "composition" not in result:
        return None
    compositions = [
        f"{head_name(*reads)} makes its {path} of {head_name(*writes)} ({number(score)})"
        for path in map(str, result["path"].values)
        for score, (writes, reads) in joined_heads(result, path, 1)
    ]
    return Evidence(values={"compositions": "; ".join(compositions)}) if compositions else None


_RULES = (
    Rule(
        topic="previous token",
        evidence=_previous_token,
        templates={
            HOLDS: "{head} attends most to the token before: {score:number}{all} by {measure}."
            "[{ties}]",
        },
    ),
    Rule(
        topic="retrieval",
        evidence=_retrieval,
        templates={
            HOLDS: "The model finds {retrieved} of {needles}; {heads}.",
            "nothing": "The model finds {retrieved} of {needles}: there is nothing to say of which "
            "heads retrieve.",
        },
    ),
    Rule(
        topic="weights",
        evidence=_weights,
        templates={
            HOLDS: "{scores} These are the same for all texts, and need no interval.",
            "nothing": "No scores from the weights alone: no matrices of queries, keys or values "
            "were found.",
        },
    ),
    Rule(
        topic="composition",
        evidence=_composition,
        templates={
            HOLDS: "The strongest compositions, of weights alone, which are the same for all texts "
            "and need no interval: {compositions}.",
        },
    ),
)
