"""Sentences of the study of distances between heads."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from headlight.findings.candidates import above_others, differ
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around
from headlight.findings.phrases import name_of, number, plural


def distances(result: xr.Dataset) -> list[str]:
    """Return findings on which two heads are most alike, and on heads of one layer."""
    measure = str(result["measure"].values[0])
    between_heads = estimates(result, "distance", ("first", "second"), measure=measure)
    layers = result["layer"].values
    names = [
        name_of(result, int(layer), int(head))
        for layer, head in zip(layers, result["head"].values, strict=True)
    ]
    one, other = np.triu_indices(len(names), 1)
    apart = between_heads.at((one, other))
    nearest = apart.times(-1.0)
    first = nearest.first()
    if first is None:
        return ["There is one head, which has nothing to be compared with."]

    def pair(at: tuple[int, ...]) -> str:
        return f"{names[one[at]]} and {names[other[at]]}"

    most_apart = float(np.log(2))
    same = layers[one] == layers[other]
    within, across = (apart.at(each).mean() for each in (same, ~same))
    if above_others(nearest, most_apart)[first]:
        sentence = _most_alike(measure, nearest, first, pair)
        say_layers = bool(np.isfinite(within.value + across.value))
    else:
        sentence = (
            f"By {measure}, no two heads attend much more alike than others: they are at least "
            f"{number(float(apart.at(first).value))} nats apart, and "
            f"{number(float(np.nanmean(apart.value)))} on average, where {most_apart:.2f} is the "
            "most there can be."
        )
        say_layers = differ(float(within.value), float(across.value), most_apart)
    if not say_layers:
        return [sentence]
    compared = str(within.minus(across).compared(0.0))
    return [
        sentence,
        f"Heads of one layer are {number(float(within.value))} nats apart on average"
        f"{around(within, number, share=False)}, heads of different layers "
        f"{number(float(across.value))}{around(across, number, share=False)}"
        f"{'; which of the two is less is inconclusive' if compared == 'inconclusive' else ''}.",
    ]


def _most_alike(
    measure: str, nearest: Estimate, first: tuple[int, ...], pair: Callable[[tuple[int, ...]], str]
) -> str:
    """Return which pair of heads is nearest, and whether others may be."""
    least = nearest.times(-1.0).at(first)
    sentence = (
        f"By {measure}, {pair(first)} attend most alike: {number(float(least.value))} nats "
        f"apart{around(least, number, share=False)}, where 0.69 is the most there can be."
    )
    if not np.isfinite(nearest.low[first] + nearest.high[first]) and len(nearest.value) > 1:
        sentence += f" Which two are most alike is inconclusive: {NO_INTERVAL}."
    if others := nearest.rivals():
        more = plural(len(others), "other pair")
        sentence += (
            f" Whether they or {pair(others[0])}"
            f"{f', or one of {more} in all,' if len(others) > 1 else ''} are most alike is "
            "inconclusive."
        )
    return sentence
