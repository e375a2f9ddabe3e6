"""Answers of studies of classifiers."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.estimates import (
    NO_INTERVAL,
    Estimates,
    around,
    beside,
    estimates,
    means,
    pairwise,
    undecided,
)
from headlight.findings.rules import is_near_majority
from headlight.findings.what_was_read import independent_units
from headlight.findings.wording import interval, listed, number, percent

CHANGES = {
    "permuted": "permuted weights",
    "uniform": "uniform weights",
    "largest": "all weight on the largest",
    "random": "all weight on a random key",
}
WHERE = {"": "in all layers at once", "layer_": "in one layer, on average",
         "head_": "in one head, on average"}  # fmt: skip
ATTENTION = ("weight", "norm", "effective")


def permutation(result: xr.Dataset) -> list[str]:
    """How far predictions move with other attention, and where most."""
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
        f"{_told(moved, place)}, and {percent(kept)} of them stay the same."
        + undecided(moved, names, "with which attention they move most", "change")
    ]
    reverse = moved.times(-1.0)
    if len(names) > 1 and (least := reverse.first()) is not None:
        said.append(
            f"They move least with {names[least[0]]}: by {_told(moved, least)}."
            + undecided(reverse, names, "with which attention they move least", "change")
        )
    if "layer_tvd" in result:
        layers = estimates(result, "layer_tvd", ("layer",), change=most)
        if (at := layers.first()) is not None:
            called = [f"layer {layer}" for layer in result["layer"].values]
            said.append(
                f"Of single layers, {called[at[0]]} moves them most: by {_told(layers, at)}."
                + undecided(layers, called, "which layer moves them most", "layer")
            )
    return [*said, *_own(result)]


def faithfulness(result: xr.Dataset) -> list[str]:
    """Which measures name words that the prediction rests on more than on random ones."""
    first = result.isel(removal=0)
    names = [str(name) for name in result["measure"].values if name != "random"]
    every = estimates(first.sel(measure=names), "comprehensiveness", ("measure",))
    random = estimates(first, "comprehensiveness", (), measure="random")
    place, called = every.first(), list(map(_called, names))
    if place is None:
        return ["No measure could be looked at."]
    said = [
        f"The words that {called[place[0]]} calls important matter most: without them the "
        f"probability of the prediction falls by {_told(every, place)}, without random ones by "
        f"{_told(random, ())}."
        + undecided(every, called, "which measure's words matter most", "measure")
    ]
    verdicts = every.against(random)
    better, worse, open_ones = (
        listed([name for name, verdict in zip(called, verdicts, strict=True) if verdict == each])
        for each in ("above", "below", "not decided")
    )
    if better and not worse and not open_ones:
        said.append("All measures are certainly better than a random order.")
    else:
        start = f"Certainly better than a random order: {better}" if better else (
            "No measure is certainly better than a random order"
        )  # fmt: skip
        known = every.known and random.known
        said.append(
            start
            + (f"; certainly worse: {worse}" if worse else "")
            + (f"; not decided: {open_ones}" if open_ones else "")
            + ("." if known else f" ({NO_INTERVAL}).")
        )
    return [*said, *_own(result)]


def agreement(result: xr.Dataset) -> list[str]:
    """Which two measures agree most, and attention with what looks at the prediction."""
    names = [str(name) for name in result["measure"].values if name != "random"]
    pairs = list(combinations(names, 2))
    across = [pair for pair in pairs if sum(name in ATTENTION for name in pair) == 1]
    every, between = (pairwise(result, "tau", each, "measure") for each in (pairs, across))
    place = every.first()
    if place is None:
        return ["No two measures could be compared: Kendall's τ is not defined in any text."]
    said = [
        f"{_pair(*pairs[place[0]], first=True)} agree most: Kendall's τ {_told(every, place)}."
        + undecided(every, [_with(pair) for pair in pairs], "which two agree most", "pair")
    ]
    if (place := between.first()) is not None:
        said.append(
            f"Of attention and what looks at the prediction, {_pair(*across[place[0]])} agree "
            f"most: τ {_told(between, place)}."
            + undecided(
                between, [_with(pair) for pair in across], "which two of these agree most", "pair"
            )
        )
    return [*said, *_own(result)]


def instance_adversary(result: xr.Dataset) -> list[str]:
    """How different attention can be with nearly, and with exactly, the same prediction."""
    prefix = _widest(result, "jsd")

    def mean(name: str) -> float:
        return float(result[f"{prefix}{name}"].mean())

    said = [
        f"With nearly the same prediction (moved by TVD {number(mean('moved'))}), attention "
        f"{WHERE[prefix]} can be {number(mean('jsd'))} nats away"
        f"{interval(mean('jsd_low'), mean('jsd_high'), number)} of 0.69 at most; in "
        f"{percent(mean('near'))} of texts it is 0.6 or more."
    ]
    exact, rows = mean("exact_jsd"), mean("exact_rows")
    if np.isfinite(exact + rows):
        said.append(
            f"{percent(rows)} of rows have other attention with exactly the same output, which is "
            f"{number(exact)} nats away on average"
            f"{interval(mean('exact_jsd_low'), mean('exact_jsd_high'), number)}."
        )
    return [*said, *_own(result)]


def guided(result: xr.Dataset) -> list[str]:
    """Whether attention of the model is worth more to another than uniform weights."""
    names = [str(name) for name in result["guide"].values]
    given = [name for name in names if name not in ("uniform", "random", "own")] or names
    every = estimates(result.sel(guide=given), "accuracy", ("guide",))
    place, called = every.first(), list(map(_called, given))
    if place is None:
        return ["No model could be tested."]
    said = (
        f"Of what was given, {called[place[0]]} is worth most: {_told(every, place, percent)} of "
        "predictions are correct"
    )
    if "uniform" in names and "uniform" not in given:
        uniform = estimates(result, "accuracy", (), guide="uniform")
        best = every.at(place).chosen(len(given), independent_units(result))
        weights = f"the {_told(uniform, (), percent)} of uniform weights"
        said += f", {beside(best, uniform, weights)}"
    said += "." + undecided(every, called, "what is worth most", "kind")
    own = estimates(result, "own_accuracy", ())
    return [said, f"The model that reads whole texts has {_told(own, (), percent)}."]


def _own(result: xr.Dataset) -> list[str]:
    """How good the model is, unless a caution has said that it is not."""
    names = ("own_accuracy", "own_accuracy_low", "majority_accuracy")
    own, low, majority = (float(result[name]) if name in result else np.nan for name in names)
    if not np.isfinite(own) or is_near_majority(own, low, majority):
        return []
    return [
        f"{percent(own)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def _widest(result: xr.Dataset, name: str) -> str:
    """Of all layers at once, or of what there is."""
    return next(prefix for prefix in WHERE if f"{prefix}{name}" in result)


def _called(name: str) -> str:
    return {"gradient_input": "gradient × input", "leave_one_out": "leave one out"}.get(name, name)


def _pair(one: str, other: str, *, first: bool = False) -> str:
    said = f"{_called(one)} and {_called(other)}"
    return said[0].upper() + said[1:] if first else said


def _with(pair: tuple[str, str]) -> str:
    return " with ".join(map(_called, pair))


def _told(
    numbers: Estimates, place: tuple[int, ...], written: Callable[[float], str] = number
) -> str:
    """One number with its interval."""
    one = numbers.at(place)
    return f"{written(float(one.value))}{around(one, written, share=written is percent)}"
