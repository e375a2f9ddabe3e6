"""The answers of the studies of what hidden tokens come from, and of mixing ratios."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.wording import interval, layer_list, listed, number, percent
from headlight.settings.flow import METHODS


def flow(result: xr.Dataset) -> list[str]:
    """What stays of a token after the last layer by each method, and which methods agree least."""
    last = result.isel(layer=-1)
    own = last.sel(token="all")
    shares = [
        f"{percent(float(each['own']))}"
        f"{interval(float(each['own_low']), float(each['own_high']))} by {_called(name)}"
        for name in own["map"].values
        for each in [own.sel(map=name)]
    ]
    said = [
        f"After layer {int(last['layer'])}, a token comes from the input token at its own place to "
        f"{listed(shares)}, mean over texts."
    ]
    return said + _agreement(last)


def _agreement(last: xr.Dataset) -> list[str]:
    """The two methods that are furthest apart, and the two that are closest."""
    names = last["map"].values
    pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
    known = {
        pair: value
        for pair in pairs
        if np.isfinite(value := float(last["agreement"].sel(map=pair[0], other=pair[1])))
    }
    if not known:
        return []
    if len(known) == 1:
        return [f"They order input tokens alike by a rank correlation of {_pair(last, *known)}."]
    least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    return [
        "In the order of the input tokens these two are closest, by mean rank correlation: "
        f"{_of_both(most)}, {_pair(last, most)}; and these furthest apart: {_of_both(least)}, "
        f"{_pair(last, least)}."
    ]


def _of_both(pair: tuple[str, str]) -> str:
    return " and ".join(map(_called, pair))


def _pair(last: xr.Dataset, pair: tuple[str, str]) -> str:
    found = last.sel(map=pair[0], other=pair[1])
    low, high = float(found["agreement_low"]), float(found["agreement_high"])
    return f"{number(float(found['agreement']))}{interval(low, high, number)}"


def _called(name: str) -> str:
    return METHODS[str(name)].label


ALONE, WHOLE = "norm", "norm_residual_norm"


def mixing(result: xr.Dataset) -> list[str]:
    """How much comes from the context, without and with the residual, and where most does."""
    ratios = result["mixing"]
    alone, kept = (float(ratios.sel(scope=each).mean()) for each in (ALONE, WHOLE))
    said = [
        f"Attention alone mixes {percent(alone)} from the context into a token, by norms, mean "
        f"over layers; with the residual connection, and the norm behind it where there is one, "
        f"{percent(kept)}."
    ]
    whole = ratios.sel(scope=WHOLE)
    if whole.sizes["layer"] > 1 and bool(np.isfinite(whole).all()):
        by_layer = estimates(result.sel(scope=WHOLE), "mixing", ("layer",))
        ends = (by_layer, "most"), (by_layer.times(-1.0), "least")
        said.append(f"Most is mixed in {_at(result, int(whole.values.argmax()))}, least in "
                    f"{_at(result, int(whole.values.argmin()))}.")  # fmt: skip
        for of, which in ends:
            if (first := of.first()) and (others := of.rivals()):
                layers = [int(result["layer"].values[at]) for (at,) in (first, *others)]
                said[-1] += (
                    f" In which layer {which} is mixed is not decided between "
                    f"{layer_list(sorted(layers))}."
                )
    return said + _frequency(result)


def _at(result: xr.Dataset, place: int) -> str:
    found = result.sel(scope=WHOLE).isel(layer=place)
    ends = interval(float(found["mixing_low"]), float(found["mixing_high"]))
    return f"layer {int(found['layer'])}: {percent(float(found['mixing']))}{ends}"


def _frequency(result: xr.Dataset) -> list[str]:
    """Rare types against frequent ones, in the layers in which intervals tell them apart."""
    found = result.sel(scope=WHOLE)
    seen = [each for each in found["frequency"].values if found["by_frequency"].sel(
        frequency=each).notnull().all()]  # fmt: skip
    if len(seen) < 2:
        return []
    rare, frequent = (found.sel(frequency=seen[place]) for place in (0, -1))
    more = int((rare["by_frequency_low"] > frequent["by_frequency_high"]).sum())
    less = int((rare["by_frequency_high"] < frequent["by_frequency_low"]).sum())
    layers = found.sizes["layer"]
    said = (
        f"Rare types (fewer than 10 occurrences) mix more than the most frequent ones in {more} of "
        f"{layers} layers"
    )
    said += f", and less in {less}" if less else ""
    return [f"{said}{'; in the others intervals overlap' if more + less < layers else ''}."]
