"""Sentences of the study of distances between heads."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from headlight.findings.candidates import above_others, differ
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import NO_INTERVAL
from headlight.findings.phrases import name_of, plural
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences

FURTHEST = float(np.log(2))
"""Largest possible Jensen-Shannon divergence, in nats."""


def distances(result: xr.Dataset) -> list[str]:
    """Return findings on which two heads are most alike, and on heads of one layer."""
    return sentences(result, _RULES)


class _Pairs(NamedTuple):
    """Pairs of heads.

    Attributes:
        apart: Distance of each pair.
        nearest: Distances with the other sign, by which the nearest pair is the first.
        first: Place of the nearest pair; None where there is one head alone.
        stand_out: Whether that pair is nearer than others by enough to be named.
        heads: Heads of each pair, ``[2, pair]``.
    """

    apart: Estimate
    nearest: Estimate
    first: tuple[int, ...] | None
    stand_out: bool
    heads: tuple[np.ndarray, np.ndarray]


def _pairs(result: xr.Dataset) -> _Pairs:
    measure = str(result["measure"].values[0])
    between_heads = estimates(result, "distance", ("first", "second"), measure=measure)
    heads = np.triu_indices(result.sizes["first"], 1)
    apart = between_heads.at(heads)
    nearest = apart.times(-1.0)
    first = nearest.first()
    stand_out = first is not None and bool(above_others(nearest, FURTHEST)[first])
    return _Pairs(apart, nearest, first, stand_out, heads)


def _nearest_pair(result: xr.Dataset) -> Evidence | None:
    pairs = _pairs(result)
    first = pairs.first
    if first is None:
        return Evidence(values={}, template="alone")
    values = {"measure": str(result["measure"].values[0]), "furthest": FURTHEST}
    if not pairs.stand_out:
        mean = float(np.nanmean(pairs.apart.value))
        values |= {"least": pairs.apart.at(first), "mean": mean, "share": mean / FURTHEST}
        return Evidence(values=values, template="alike")
    names = [
        name_of(result, int(layer), int(head))
        for layer, head in zip(result["layer"].values, result["head"].values, strict=True)
    ]

    def pair(place: tuple[int, ...]) -> str:
        one, other = (heads[place] for heads in pairs.heads)
        return f"{names[one]} and {names[other]}"

    has_ends = np.isfinite(pairs.nearest.low[first] + pairs.nearest.high[first])
    rivals = pairs.nearest.rivals()
    values |= {
        "pair": pair(first),
        "least": pairs.apart.at(first),
        "share": pairs.apart.at(first).times(1 / FURTHEST),
        "why": NO_INTERVAL if not has_ends and len(pairs.nearest.value) > 1 else None,
        "rival": pair(rivals[0]) if len(rivals) == 1 else None,
        "first_rival": pair(rivals[0]) if len(rivals) > 1 else None,
        "rivals": plural(len(rivals), "other pair"),
    }
    return Evidence(values=values)


def _layers(result: xr.Dataset) -> Evidence | None:
    pairs, layers = _pairs(result), result["layer"].values
    if pairs.first is None:
        return None
    one, other = (layers[heads] for heads in pairs.heads)
    within, across = (pairs.apart.at(chosen).mean() for chosen in (one == other, one != other))
    if not np.isfinite(within.value + across.value):
        return None
    if not pairs.stand_out and not differ(float(within.value), float(across.value), FURTHEST):
        return None
    inconclusive = str(within.minus(across).compared(0.0)) == "inconclusive"
    return Evidence(
        values={"within": within, "across": across},
        template="inconclusive" if inconclusive else HOLDS,
    )


_RULES = (
    Rule(
        topic="nearest pair",
        evidence=_nearest_pair,
        templates={
            "alone": "There is one head, which has nothing to be compared with.",
            "alike": "By {measure}, no two heads attend much more alike than others: on average "
            "they are {share:percent} of the largest possible distance apart. In nats that is "
            "{mean:number} on average, and {least:number} at least, of {furthest:.2f}.",
            HOLDS: "By {measure}, {pair} attend most alike: they are {share:percent} of the "
            "largest possible distance apart. In nats that is {least:number}{least:ends} of "
            "{furthest:.2f}."
            "[ Which two are most alike is inconclusive: {why}.]"
            "[ Whether they or {rival} are most alike is inconclusive.]"
            "[ Whether they or {first_rival}, or one of {rivals} in all, are most alike is "
            "inconclusive.]",
        },
    ),
    Rule(
        topic="layers",
        evidence=_layers,
        templates={
            HOLDS: "Heads of one layer are {within:number} nats apart on average{within:ends}, "
            "heads of different layers {across:estimate}.",
            "inconclusive": "Heads of one layer are {within:number} nats apart on average"
            "{within:ends}, heads of different layers {across:estimate}; which of the two is less "
            "is inconclusive.",
        },
    ),
)
