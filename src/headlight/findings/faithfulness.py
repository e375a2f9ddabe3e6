"""Sentences of the study of faithfulness.

The best map is picked by the very numbers that it is judged by, so that others are said to be worse
only where they are further behind on the same texts than any would be by chance.
"""

import json
from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.candidates import agree_by_construction
from headlight.findings.estimates import estimates, pairwise
from headlight.findings.interval_phrases import NO_INTERVAL, around, undecided
from headlight.findings.phrases import listed, number, plural
from headlight.findings.what_was_read import independent_units
from headlight.settings.flow import METHODS

LOWER_IS_BETTER = ("sufficiency", "share_to_flip")
BEST, WORSE, OPEN = "best", "worse", "inconclusive"
RANDOM = "random"
BESIDE = {RANDOM: "control", "leave_one_out": "reference"}
"""Roles of the maps that do not look into a model, and stand beside those that do."""

SAYS = {
    "comprehensiveness": "Most is lost without the tokens that come first by {best}",
    "sufficiency": "Least is lost without the tokens that come last by {best}",
    "share_to_flip": "The prediction changes at the smallest share of the tokens by {best}",
    "leave_one_out": "Closest to what each token does when it alone is left out comes {best}",
    "gradient_input": "Closest to gradient × input comes {best}",
}

BY_REMOVAL = ("comprehensiveness", "sufficiency", "share_to_flip")
"""Questions for which a random order, and leaving one out, show what is little and much."""

NAMES = {
    **{name: method.label for name, method in METHODS.items()},
    "merged_norm": "merged norm",
    "prediction": "parts of the prediction",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave one out",
    RANDOM: "random order",
}
"""Labels of maps that are not called by their names."""

BESIDE_RANDOM = {
    "below": "a random order does certainly better",
    OPEN: "whether that is better than a random order is inconclusive",
}

SYMBOLS = {"spearman": "ρ", "kendall": "τ"}

SHOWN = 5e-4
"""Numbers that are closer are the same as they are shown."""


def symbol_of(result: xr.Dataset) -> str:
    """Return the symbol of the coefficient of correlation."""
    settings = json.loads(str(result.attrs.get("settings", "{}")))
    return SYMBOLS[settings.get("coefficient", "spearman")]


def called(name: str) -> str:
    """Return the name of a map."""
    return NAMES.get(name, name)


def distinct_maps(result: xr.Dataset) -> tuple[xr.Dataset, dict[str, str]]:
    """Return the result with maps of equal numbers once, and the names of its maps.

    A map that stands for others is called ``weight = effective here``.
    """
    same: dict[str, list[str]] = {}
    for name in map(str, result["map"].values):
        twin = next((other for other in same if _is_same(result, other, name)), name)
        same.setdefault(twin, []).append(called(name))
    kept_maps = list(same)
    names = {
        name: f"{' = '.join(labels)} here" if len(labels) > 1 else labels[0]
        for name, labels in same.items()
    }
    return result.sel({dim: kept_maps for dim in ("map", "other") if dim in result.dims}), names


def _is_same(result: xr.Dataset, name: str, other: str) -> bool:
    """Return whether two maps of the inside have the same numbers as far as they are shown."""
    if {name, other} & BESIDE.keys():
        return False
    apart = result.drop_sel(other=[name, other]) if "other" in result.dims else result
    numbers = [variable for variable in apart.data_vars.values() if "map" in variable.dims]
    pairs = [
        (variable.sel(map=name).values, variable.sel(map=other).values) for variable in numbers
    ]
    return any(np.isfinite(first).any() for first, _ in pairs) and all(
        np.allclose(first, second, rtol=0, atol=SHOWN, equal_nan=True) for first, second in pairs
    )


def beside_best(result: xr.Dataset, question: str) -> xr.Dataset:
    """Return the maps by one question, each with its distance behind the first.

    The first is one of those that look into the model: leaving one out does what it is judged by.

    Returns:
        Over ``map``: ``score`` and ``behind``, at least 0 for all that look into the model, with
        their intervals; ``verdict``: ``worse`` of a map that is certainly not the first, ``best``
        of the first where all others are worse, else ``inconclusive``, and of maps beside them what
        they are.  Maps without a score, such as one that would be compared with itself, are left
        out.  Attributes: the ``first``, and whether it is ``above`` a random order.
    """
    scores = estimates(result, "score", ("map",), question=question)
    observed = np.isfinite(scores.value)
    scores = scores.at(observed)
    names = list(map(str, result["map"].values[observed]))
    if not names:
        return xr.Dataset()
    order = scores.times(-1.0 if question in LOWER_IS_BETTER else 1.0)
    inside = [at for at, name in enumerate(names) if name not in BESIDE] or [*range(len(names))]
    first = inside[int(order.value[inside].argmax())]
    behind = order.at(first).minus(order)
    tied = {inside[at] for at in np.flatnonzero(order.at(inside).ties())}
    has_ends = bool(np.isfinite(order.low[first] + order.high[first]))
    verdicts = [OPEN if at in tied or not has_ends else WORSE for at in range(len(names))]
    if len(inside) == 1 or (has_ends and tied == {first}):
        verdicts[first] = BEST
    control = ""
    if RANDOM in names:
        ahead = order.at(inside).minus(order.at(names.index(RANDOM)))
        first_ahead = ahead.simultaneous(independent_units(result)).at(inside.index(first))
        control = str(first_ahead.against(0.0))
    numbers = {"score": scores, "behind": behind}
    return xr.Dataset(
        {
            "verdict": ("map", [BESIDE.get(name, verdicts[at]) for at, name in enumerate(names)]),
            **{name: ("map", estimate.value) for name, estimate in numbers.items()},
            **{f"{name}_low": ("map", estimate.low) for name, estimate in numbers.items()},
            **{f"{name}_high": ("map", estimate.high) for name, estimate in numbers.items()},
        },
        {"map": names},
        {"first": names[first], "beside_random": control},
    )


def faithfulness(result: xr.Dataset) -> list[str]:
    """Return what is certain of the maps by each question, and in one line what is inconclusive."""
    result, names = distinct_maps(result)
    sentences, unclear = [], []
    for question in map(str, result["question"].values) if "question" in result else ():
        if question not in SAYS:
            continue
        compared = beside_best(result, question)
        if "verdict" not in compared:
            continue
        first = str(compared.attrs["first"])
        rest = _certain(compared, question, names)
        score = estimates(compared, "score", (), map=first)
        start = f"{SAYS[question].format(best=names[first])}: {number(float(score.value))}"
        beside = _beside(compared, question)
        if rest:
            start += f"{around(score, number, share=False)}{beside}"
            sentences.append(f"{'; '.join([start, *rest])}.")
        elif OPEN in compared["verdict"].values:
            unclear.append(f"{start[0].lower()}{start[1:]}{beside}")
    if unclear:
        bounded = estimates(result, "score", ("question", "map")).known
        why = f"with {plural(int(result['texts']), 'text')}" if bounded else f"({NO_INTERVAL})"
        sentences.append(f"Which map is first is inconclusive {why}: {'; '.join(unclear)}.")
    return [*sentences, *_closest_pair(result, names)]


def _beside(result: xr.Dataset, question: str) -> str:
    """Return the scores of a random order and of leaving one out, by a question of removal."""
    names = list(map(str, result["map"].values))
    return "".join(
        f", {words} {number(float(result['score'].sel(map=name)))}"
        for name, words in ((RANDOM, "in a random order"), ("leave_one_out", "by leave one out"))
        if name in names and question in BY_REMOVAL and name != result.attrs["first"]
    )


def _certain(result: xr.Dataset, question: str, names: dict[str, str]) -> list[str]:
    """Return clauses on the maps, and a random order, certainly behind or before the first."""
    first = str(result.attrs["first"])
    rest = result.drop_sel(map=first)
    worse, tied = (
        [names[name] for name in rest["map"].values[rest["verdict"].values == verdict].tolist()]
        for verdict in (WORSE, OPEN)
    )
    control = str(result.attrs["beside_random"]) if question in BY_REMOVAL else ""
    if tied and not worse and control not in ("above", "below"):
        return []
    clauses = (
        BESIDE_RANDOM.get(control, ""),
        f"certainly behind it: {listed(worse)}" if worse else "",
        f"which of these is first is inconclusive: {listed([names[first], *tied])}" if tied else "",
    )
    return [clause for clause in clauses if clause]


def _closest_pair(result: xr.Dataset, names: dict[str, str]) -> list[str]:
    """Return a finding on the two maps that agree most, but for those that do by construction."""
    if "correlation" not in result:
        return []
    pairs = [
        pair
        for pair in combinations([name for name in names if name != RANDOM], 2)
        if not agree_by_construction(*pair)
    ]
    correlations = pairwise(result, "correlation", pairs, "map")
    place = correlations.first() if pairs else None
    if place is None:
        return ["No two maps could be compared: no correlation is defined in any text."]
    first, second = (names[name] for name in pairs[place[0]])
    ends = around(correlations.at(place), number, share=False)
    labels = [" with ".join(names[name] for name in pair) for pair in pairs]
    return [
        f"{first[0].upper()}{first[1:]} and {second} agree most: {symbol_of(result)} "
        f"{number(float(correlations.value[place]))}{ends}."
        + undecided(correlations, labels, "which two agree most", "pair")
    ]
