"""Sentences of the study of flow: tokens that were followed, and mixing from the context."""

from itertools import combinations

import numpy as np
import xarray as xr

from headlight.findings.candidates import differ
from headlight.findings.estimates import estimates, means, pairwise
from headlight.findings.interval_phrases import NO_INTERVAL, around, undecided
from headlight.findings.phrases import listed, number, percent
from headlight.settings.flow import METHODS


def flow(result: xr.Dataset) -> list[str]:
    """Return findings on tokens that were followed, and on mixing ratios."""
    sentences = _followed(result) if "own" in result else []
    return sentences + _mixing(result) if "mixing" in result else sentences


def _followed(result: xr.Dataset) -> list[str]:
    """Return what tokens come from after the last layer, and how far the methods agree."""
    last = result.isel(layer=-1)
    after = f"After layer {int(last['layer'])}, a token comes from"
    sentences = [
        f"{after} the input token at its own place to {_by_map(last, 'own')}, mean over texts."
    ]
    if result.attrs.get("kind") == "decoder":  # which attends to its first token for want of others
        sentences.insert(0, f"{after} the first token of the text to {_by_map(last, 'first')}.")
    return sentences + _agreement(last)


def _by_map(last: xr.Dataset, name: str) -> str:
    """Return a share of all tokens, by each method."""
    every = last.sel(token="all")
    numbers = estimates(every, name, ("map",))
    return listed(
        [
            f"{percent(float(each.value))}{around(each)} by {_called(one)}"
            for place, one in enumerate(every["map"].values)
            for each in [numbers.at(place)]
        ]
    )


def _agreement(last: xr.Dataset) -> list[str]:
    """Return a finding on the two methods that are closest, and the two that are furthest apart."""
    pairs = list(combinations(map(str, last["map"].values), 2))
    numbers = pairwise(last, "agreement", pairs, "map")
    least, most = numbers.times(-1.0).first(), numbers.first()
    if least is None or most is None:
        return []
    several = np.isfinite(numbers.value).sum() > 1
    if several and not differ(numbers.value[most], numbers.value[least]):
        ends = f"{number(float(numbers.value[least]))} to {number(float(numbers.value[most]))}"
        return [f"All methods order input tokens alike, by mean rank correlations of {ends}."]
    names = [" with ".join(map(_called, pair)) for pair in pairs]

    def told(place: tuple[int, ...]) -> str:
        return (
            f"{number(float(numbers.value[place]))}{around(numbers.at(place), number, share=False)}"
        )

    if not several:
        return [f"They order input tokens alike by a rank correlation of {told(most)}."]
    return [
        "In the order of the input tokens these two are closest, by mean rank correlation: "
        f"{names[most[0]]}, {told(most)}; and these furthest apart: {names[least[0]]}, "
        f"{told(least)}."
        + undecided(numbers, names, "which two are closest", "pair")
        + undecided(numbers.times(-1.0), names, "which two are furthest apart", "pair")
    ]


def _called(name: str) -> str:
    return METHODS[str(name)].label


ALONE, WHOLE = "norm", "norm_residual_norm"


def _mixing(result: xr.Dataset) -> list[str]:
    """Return findings on mixing from the context, with and without the residual, by layer."""
    alone, whole = (means(result.sel(scope=each), "mixing") for each in (ALONE, WHOLE))
    sentences = [
        f"Attention alone mixes {percent(float(alone.value))}{around(alone)} from the context into "
        "a token, by norms, mean over layers; with the residual connection, and the norm behind it "
        f"where there is one, {percent(float(whole.value))}{around(whole)}."
    ]
    by_layer = estimates(result.sel(scope=WHOLE), "mixing", ("layer",))
    if len(by_layer.value) > 1 and np.isfinite(by_layer.value).all():
        names = [f"layer {layer}" for layer in result["layer"].values]
        low, high = float(by_layer.value.min()), float(by_layer.value.max())
        if not differ(low, high):
            alike = f"All layers mix about as much: {percent(low)} to {percent(high)}."
            return [*sentences, alike, *_frequency(result)]
        ends = [
            f"{names[place]}: {percent(float(each.value))}{around(each)}"
            for place in (int(by_layer.value.argmax()), int(by_layer.value.argmin()))
            for each in [by_layer.at((place,))]
        ]
        sentences.append(
            f"Most is mixed in {ends[0]}, least in {ends[1]}."
            + undecided(by_layer, names, "in which layer most is mixed", "layer")
            + undecided(by_layer.times(-1.0), names, "in which layer least is mixed", "layer")
        )
    return sentences + _frequency(result)


def _frequency(result: xr.Dataset) -> list[str]:
    """Compare rare types with frequent ones, in the layers in which intervals tell them apart."""
    whole = result.sel(scope=WHOLE)
    frequencies = [
        each
        for each in whole["frequency"].values
        if whole["mixing_by_frequency"].sel(frequency=each).notnull().all()
    ]
    if len(frequencies) < 2:
        return []
    rare, frequent = (
        estimates(whole, "mixing_by_frequency", ("layer",), frequency=frequencies[at])
        for at in (0, -1)
    )
    verdicts = rare.against(frequent)
    more, less = (int((verdicts == each).sum()) for each in ("above", "below"))
    layers = len(verdicts)
    counts = [
        f"{words} in {'all' if count == layers else f'{count} of'} {layers} layers"
        for count, words in ((more, "more"), (less, "less"))
        if count
    ]
    sentence = (
        f"Rare types (fewer than 10 occurrences) mix {listed(counts)} than the most frequent ones"
    )
    if not counts:
        sentence = (
            "Whether rare types (fewer than 10 occurrences) mix more than the most frequent ones "
            f"is inconclusive in all {layers} layers"
        )
    elif more + less < layers:
        sentence += "; in the others it is inconclusive"
    if more + less < layers and not (rare.known and frequent.known):
        sentence += f": {NO_INTERVAL}"
    return [f"{sentence}."]
