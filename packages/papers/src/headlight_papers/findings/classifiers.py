"""Findings of studies of classifiers."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from headlight.findings.answers.faithfulness import called
from headlight.findings.estimates import Estimate, around, beside, estimates, means, undecided
from headlight.findings.observed import observed
from headlight.findings.rules import is_near_majority
from headlight.findings.what_was_read import independent_units
from headlight.findings.wording import number, percent

CHANGES = {
    "permuted": "permuted weights",
    "uniform": "uniform weights",
    "largest": "all weight on the largest",
    "random": "all weight on a random key",
}
WHERE = {"": "in all layers at once", "layer_": "in one layer, on average",
         "head_": "in one head, on average"}  # fmt: skip


def permutation(result: xr.Dataset) -> list[str]:
    """Return findings on how far predictions move with other attention, and where most."""
    prefix = _widest(result, "tvd")
    moved = means(result, f"{prefix}tvd", "change")
    place = moved.first()
    if place is None:
        return ["No prediction could be compared."]
    names = [CHANGES[name] for name in map(str, result["change"].values)]
    most = str(result["change"].values[place[0]])
    kept = float(means(result, f"{prefix}agreement", "change").value[place])
    said = [
        f"Predictions move most with {CHANGES[most]} {WHERE[prefix]}: by TVD "
        f"{number_text(moved, place)}, and {percent(kept)} of them stay the same."
        + undecided(moved, names, "with which attention they move most", "change")
    ]
    reverse = moved.times(-1.0)
    if len(names) > 1 and (least := reverse.first()) is not None:
        said.append(
            f"They move least with {names[least[0]]}: by {number_text(moved, least)}."
            + undecided(reverse, names, "with which attention they move least", "change")
        )
    if "layer_tvd" in result:
        layers = estimates(result, "layer_tvd", ("layer",), change=most)
        if (at := layers.first()) is not None:
            called = [f"layer {layer}" for layer in result["layer"].values]
            said.append(
                f"Of single layers, {called[at[0]]} moves them most: by {number_text(layers, at)}."
                + undecided(layers, called, "which layer moves them most", "layer")
            )
    return [*said, *accuracy_sentence(result)]


def instance_adversary(result: xr.Dataset) -> list[str]:
    """Return findings on how far attention can differ with (nearly) the same prediction."""
    prefix = _widest(result, "jsd")

    def mean(name: str) -> Estimate:
        return means(result, f"{prefix}{name}")

    apart, exact, rows = mean("jsd"), mean("exact_jsd"), float(mean("exact_rows").value)
    said = [
        f"With nearly the same prediction (moved by TVD {number(float(mean('moved').value))}), "
        f"attention {WHERE[prefix]} can be {number(float(apart.value))} nats away"
        f"{around(apart, number, share=False)} of 0.69 at most; in "
        f"{percent(float(mean('near').value))} of texts it is 0.6 or more."
    ]
    if np.isfinite(exact.value + rows):
        said.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{number(float(exact.value))} nats away on average"
            f"{around(exact, number, share=False)}."
        )
    return [*said, *accuracy_sentence(result)]


def guided(result: xr.Dataset) -> list[str]:
    """Whether attention of the model is worth more to another than uniform weights."""
    names = [str(name) for name in result["guide"].values]
    given = [name for name in names if name not in ("uniform", "random", "own")] or names
    every = estimates(result.sel(guide=given), "accuracy", ("guide",))
    place, labels = every.first(), list(map(called, given))
    if place is None:
        return ["No model could be tested."]
    said = (
        f"Of what was given, {labels[place[0]]} is worth most: "
        f"{number_text(every, place, percent)} of predictions are correct"
    )
    if "uniform" in names and "uniform" not in given:
        uniform = estimates(result, "accuracy", (), guide="uniform")
        weights = f"the {number_text(uniform, (), percent)} of uniform weights"
        beyond = every.minus(uniform).simultaneous(independent_units(result)).at(place)
        said += f", {beside(every.at(place), uniform, weights, beyond)}"
    said += "." + undecided(every, labels, "what is worth most", "kind")
    own = estimates(result, "own_accuracy", ())
    return [said, f"The model that reads whole texts has {number_text(own, (), percent)}."]


def accuracy_sentence(result: xr.Dataset) -> list[str]:
    """Return how good the model is, unless a caution has said that it is not."""
    accuracy = estimates(result, "own_accuracy", ())
    own, majority = float(accuracy.value), float(observed(result, "majority_accuracy", ()))
    if not np.isfinite(own) or is_near_majority(own, float(accuracy.low), majority):
        return []
    return [
        f"{percent(own)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def number_text(
    numbers: Estimate, place: tuple[int, ...], written: Callable[[float], str] = number
) -> str:
    """Return one number as text, with its interval."""
    one = numbers.at(place)
    return f"{written(float(one.value))}{around(one, written, share=written is percent)}"


def _widest(result: xr.Dataset, name: str) -> str:
    """Return the prefix of all layers at once, or of what there is."""
    return next(prefix for prefix in WHERE if f"{prefix}{name}" in result)
