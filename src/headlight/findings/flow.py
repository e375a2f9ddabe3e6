"""Sentences of the study of flow: tokens that were followed, and mixing from the context."""

from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.candidates import differ
from headlight.findings.estimates import Estimate, estimates, means, pairwise
from headlight.findings.interval_phrases import NO_INTERVAL, undecided
from headlight.findings.phrases import listed, percent
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences, write
from headlight.settings.flow import METHODS, foremost

ALONE, WHOLE = "norm", "norm_residual_norm"
"""Scopes of mixing: attention alone, and with the residual connection and the norm behind it."""


def flow(result: xr.Dataset) -> list[str]:
    """Return findings on tokens that were followed, and on mixing ratios."""
    return sentences(result, _RULES)


def _label(name: str) -> str:
    return METHODS[str(name)].label


# ---------------------------------------------------------------- tokens that were followed


def _answer(result: xr.Dataset) -> Evidence | None:
    """Return what is a token's own by the foremost method, and the range of the others."""
    if "own" not in result:
        return None
    of_all = result.isel(layer=-1).sel(token="all")
    methods = [str(name) for name in of_all["map"].values]
    at = methods.index(foremost(methods))
    own = estimates(of_all, "own", ("map",))
    others = np.delete(own.value, at)
    is_decoder = result.attrs.get("kind") == "decoder"
    ends = {"least": others.min(), "most": others.max()} if len(others) else {}
    alike = bool(ends) and percent(ends["least"]) == percent(ends["most"])
    return Evidence(
        values={
            "where": after(result),
            "method": _label(methods[at]),
            "own": own.at(at),
            "first": estimates(of_all, "first", ("map",)).at(at) if is_decoder else None,
            "least": ends.get("least"),
            "most": None if alike else ends.get("most"),
        }
    )


def after(result: xr.Dataset) -> str:
    """Return after which layer tokens are looked at, to begin a sentence or a title.

    Args:
        result: Result of the study of flow, or the flow of one text.
    """
    layer = int(result["layer"].values[-1])
    is_last = layer == result.attrs.get("last_layer")
    return "After the last layer" if is_last else f"After layer {layer}"


def _first_token(result: xr.Dataset) -> Evidence | None:
    """Return what comes from a decoder's first token, to which it attends for want of others."""
    if "own" not in result or result.attrs.get("kind") != "decoder":
        return None
    return _share_by_method(result, "first")


def _own_token(result: xr.Dataset) -> Evidence | None:
    return _share_by_method(result, "own") if "own" in result else None


def _share_by_method(result: xr.Dataset, name: str) -> Evidence:
    """Return a share of all tokens after the last layer, by each method."""
    last = result.isel(layer=-1)
    of_all = last.sel(token="all")
    numbers = estimates(of_all, name, ("map",))
    shares = [
        write(
            result, "{share:share} by {method}", {"share": numbers.at(at), "method": _label(name)}
        )
        for at, name in enumerate(of_all["map"].values)
    ]
    return Evidence(values={"layer": int(last["layer"]), "shares": listed(shares)})


def _agreement(result: xr.Dataset) -> Evidence | None:
    """Return the two methods that are closest, and the two that are furthest apart."""
    if "own" not in result:
        return None
    last = result.isel(layer=-1)
    pairs = list(combinations(map(str, last["map"].values), 2))
    numbers = pairwise(last, "agreement", pairs, "map")
    least, most = numbers.times(-1.0).first(), numbers.first()
    if least is None or most is None:
        return None
    values = {"most": numbers.at(most), "least": numbers.at(least)}
    if np.isfinite(numbers.value).sum() < 2:
        return Evidence(values=values, template="one pair")
    if not differ(numbers.value[most], numbers.value[least]):
        return Evidence(values=values, template="alike")
    names = [" with ".join(map(_label, pair)) for pair in pairs]
    names_of_ends = {"closest": names[most[0]], "furthest": names[least[0]]}
    ties = undecided(numbers, names, "which two are closest", "pair") + undecided(
        numbers.times(-1.0), names, "which two are furthest apart", "pair"
    )
    return Evidence(values={**values, **names_of_ends, "ties": ties})


# ---------------------------------------------------------------- mixing from the context


def _mixing(result: xr.Dataset) -> Evidence | None:
    """Return the mixing from the context, with and without the residual connection."""
    if "mixing" not in result:
        return None
    alone, whole = (means(result.sel(scope=scope), "mixing") for scope in (ALONE, WHOLE))
    return Evidence(values={"alone": alone, "whole": whole})


def _layers(result: xr.Dataset) -> Evidence | None:
    """Return the layers in which most and least is mixed."""
    if "mixing" not in result:
        return None
    by_layer = estimates(result.sel(scope=WHOLE), "mixing", ("layer",))
    if len(by_layer.value) < 2 or not np.isfinite(by_layer.value).all():
        return None
    most, least = int(by_layer.value.argmax()), int(by_layer.value.argmin())
    values = {"highest": by_layer.at((most,)), "lowest": by_layer.at((least,))}
    if not differ(float(by_layer.value.min()), float(by_layer.value.max())):
        return Evidence(values=values, template="alike")
    names = [f"layer {layer}" for layer in result["layer"].values]
    ties = undecided(by_layer, names, "in which layer most is mixed", "layer") + undecided(
        by_layer.times(-1.0), names, "in which layer least is mixed", "layer"
    )
    return Evidence(values={**values, "most": names[most], "least": names[least], "ties": ties})


def _frequency(result: xr.Dataset) -> Evidence | None:
    """Compare rare types with frequent ones, in the layers in which intervals tell them apart."""
    if "mixing" not in result:
        return None
    whole = result.sel(scope=WHOLE)
    frequencies = [
        frequency
        for frequency in whole["frequency"].values
        if whole["mixing_by_frequency"].sel(frequency=frequency).notnull().all()
    ]
    if len(frequencies) < 2:
        return None
    rare, frequent = (
        estimates(whole, "mixing_by_frequency", ("layer",), frequency=frequencies[at])
        for at in (0, -1)
    )
    verdicts = rare.against(frequent)
    counts = _counts(verdicts)
    decided = int(np.isin(verdicts, ("above", "below")).sum())
    is_open = decided < len(verdicts)
    return Evidence(
        values={
            "counts": listed(counts),
            "layers": len(verdicts),
            "others": "; in the others it is inconclusive" if is_open else None,
            "why": NO_INTERVAL if is_open and not _have_intervals(rare, frequent) else None,
        },
        template=HOLDS if counts else "inconclusive",
    )


def _counts(verdicts: NDArray[np.str_]) -> list[str]:
    """Return in how many layers more is mixed, and in how many less."""
    layers = len(verdicts)
    numbers = {
        words: int((verdicts == verdict).sum())
        for words, verdict in (("more", "above"), ("less", "below"))
    }
    return [
        f"{words} in {'all' if number == layers else f'{number} of'} {layers} layers"
        for words, number in numbers.items()
        if number
    ]


def _have_intervals(*numbers: Estimate) -> bool:
    return all(estimate.known for estimate in numbers)


_RULES = (
    Rule(
        topic="answer",
        evidence=_answer,
        templates={
            HOLDS: "{where}, a token is {own:share} itself by {method}[, and "
            "{first:share} the first token of the text][; other methods say {least:percent}]"
            "[ to {most:percent}].",
        },
    ),
    Rule(
        topic="first token",
        evidence=_first_token,
        templates={
            HOLDS: "After layer {layer}, a token comes from the first token of the text to "
            "{shares}.",
        },
    ),
    Rule(
        topic="own token",
        evidence=_own_token,
        templates={
            HOLDS: "After layer {layer}, a token comes from the input token at its own place to "
            "{shares}, mean over texts.",
        },
    ),
    Rule(
        topic="agreement",
        evidence=_agreement,
        templates={
            "one pair": "They order input tokens alike by a rank correlation of {most:estimate}.",
            "alike": "All methods order input tokens alike, by mean rank correlations of "
            "{least:number} to {most:number}.",
            HOLDS: "In the order of the input tokens these two are closest, by mean rank "
            "correlation: {closest}, {most:estimate}; and these furthest apart: {furthest}, "
            "{least:estimate}.[{ties}]",
        },
    ),
    Rule(
        topic="mixing",
        evidence=_mixing,
        templates={
            HOLDS: "A layer takes {whole:share} of a token from its context, mean over layers; "
            "attention alone, without the residual connection, would take {alone:share}.",
        },
    ),
    Rule(
        topic="layers",
        evidence=_layers,
        templates={
            "alike": "All layers mix about as much: {lowest:percent} to {highest:percent}.",
            HOLDS: "Most is mixed in {most}: {highest:share}, least in {least}: {lowest:share}."
            "[{ties}]",
        },
    ),
    Rule(
        topic="frequency",
        evidence=_frequency,
        templates={
            HOLDS: "Rare types (fewer than 10 occurrences) mix {counts} than the most frequent "
            "ones[{others}][: {why}].",
            "inconclusive": "Whether rare types (fewer than 10 occurrences) mix more than the most "
            "frequent ones is inconclusive in all {layers} layers[: {why}].",
        },
    ),
)
