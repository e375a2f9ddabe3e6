"""Findings on predictions with other attention, in words."""

import xarray as xr

from headlight.findings.estimates import Estimate, estimates, means
from headlight.findings.interval_phrases import around, undecided
from headlight.findings.phrases import percent
from headlight_papers.findings.classifiers import (
    WHERE,
    accuracy_sentence,
    widest_scope,
)

CHANGES = {
    "permuted": "permuted weights",
    "uniform": "uniform weights",
    "largest": "all weight on the largest",
    "random": "all weight on a random key",
}


def _moved(distance: Estimate) -> str:
    """Return a total variation distance as the share of the probability that moves."""
    return f"{percent(float(distance.value))}{around(distance)}"


def permutation(result: xr.Dataset) -> list[str]:
    """Return findings on how far predictions move with other attention, and where most."""
    prefix = widest_scope(result, "tvd")
    moved = means(result, f"{prefix}tvd", "change")
    place = moved.first()
    if place is None:
        return ["No prediction could be compared."]
    names = [CHANGES[name] for name in map(str, result["change"].values)]
    most = str(result["change"].values[place[0]])
    agreement = float(means(result, f"{prefix}agreement", "change").value[place])
    sentences = [
        f"Predictions move most with {CHANGES[most]} {WHERE[prefix]}: "
        f"{_moved(moved.at(place))} of the probability goes to other classes, and "
        f"{percent(agreement)} of the predictions stay the same."
        + undecided(moved, names, "with which attention they move most", "change")
    ]
    reverse = moved.times(-1.0)
    if len(names) > 1 and (least := reverse.first()) is not None:
        sentences.append(
            f"They move least with {names[least[0]]}: {_moved(moved.at(least))}."
            + undecided(reverse, names, "with which attention they move least", "change")
        )
    if "layer_tvd" in result:
        layers = estimates(result, "layer_tvd", ("layer",), change=most)
        if (at := layers.first()) is not None:
            called = [f"layer {layer}" for layer in result["layer"].values]
            sentences.append(
                f"Of single layers, {called[at[0]]} moves them most: {_moved(layers.at(at))}."
                + undecided(layers, called, "which layer moves them most", "layer")
            )
    return [*sentences, *accuracy_sentence(result)]
