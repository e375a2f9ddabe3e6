"""Answers of studies of classifiers."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.estimates import (
    NO_INTERVAL,
    Estimate,
    around,
    estimates,
    pairwise,
    undecided,
)
from headlight.findings.rules import is_near_majority
from headlight.findings.wording import listed, number, percent

ATTENTION = ("weight", "norm", "effective")


def faithfulness(result: xr.Dataset) -> list[str]:
    """Which measures name words that the prediction rests on more than on random ones."""
    first = result.isel(removal=0)
    names = [str(name) for name in result["measure"].values if name != "random"]
    every = estimates(first.sel(measure=names), "comprehensiveness", ("measure",))
    random = estimates(first, "comprehensiveness", (), measure="random")
    place, called = every.first(), list(map(measure_label, names))
    if place is None:
        return ["No measure could be looked at."]
    said = [
        f"The words that {called[place[0]]} calls important matter most: without them the "
        f"probability of the prediction falls by {number_text(every, place)}, without random ones "
        f"by {number_text(random, ())}."
        + undecided(every, called, "which measure's words matter most", "measure")
    ]
    verdicts = every.against(random)
    better, worse, open_ones = (
        listed([name for name, verdict in zip(called, verdicts, strict=True) if verdict == each])
        for each in ("above", "below", "inconclusive")
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
            + (f"; inconclusive: {open_ones}" if open_ones else "")
            + ("." if known else f" ({NO_INTERVAL}).")
        )
    return [*said, *accuracy_sentence(result)]


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
        f"{_pair(*pairs[place[0]], first=True)} agree most: "
        f"Kendall's τ {number_text(every, place)}."
        + undecided(every, [_with(pair) for pair in pairs], "which two agree most", "pair")
    ]
    if (place := between.first()) is not None:
        said.append(
            f"Of attention and what looks at the prediction, {_pair(*across[place[0]])} agree "
            f"most: τ {number_text(between, place)}."
            + undecided(
                between, [_with(pair) for pair in across], "which two of these agree most", "pair"
            )
        )
    return [*said, *accuracy_sentence(result)]


def accuracy_sentence(result: xr.Dataset) -> list[str]:
    """Return how good the model is, unless a caution has said that it is not."""
    names = ("own_accuracy", "own_accuracy_low", "majority_accuracy")
    own, low, majority = (float(result[name]) if name in result else np.nan for name in names)
    if not np.isfinite(own) or is_near_majority(own, low, majority):
        return []
    return [
        f"{percent(own)} of the model's predictions are correct; always predicting the most "
        f"frequent class gives {percent(majority)}."
    ]


def measure_label(name: str) -> str:
    """Return the name of a measure as sentences have it."""
    return {"gradient_input": "gradient × input", "leave_one_out": "leave one out"}.get(name, name)


def _pair(one: str, other: str, *, first: bool = False) -> str:
    said = f"{measure_label(one)} and {measure_label(other)}"
    return said[0].upper() + said[1:] if first else said


def _with(pair: tuple[str, str]) -> str:
    return " with ".join(map(measure_label, pair))


def number_text(
    numbers: Estimate, place: tuple[int, ...], written: Callable[[float], str] = number
) -> str:
    """Return one number as text, with its interval."""
    one = numbers.at(place)
    return f"{written(float(one.value))}{around(one, written, share=written is percent)}"
