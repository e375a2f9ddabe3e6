"""Findings of studies of hidden tokens and their input."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import around, estimates
from headlight.findings.wording import listed, percent


def attribution(result: xr.Dataset) -> list[str]:
    """Return findings on a token's own input, in the first and in the last layer."""
    own = estimates(result, "own_mean", ("layer",), group="all")
    other = estimates(result, "not_largest", ("layer",))
    first, last = (f"layer {int(result['layer'].values[at])}" for at in (0, -1))
    told = [[f"{percent(float(of.value[at]))}{around(of.at(at))}" for at in (0, -1)]
            for of in (own, other)]  # fmt: skip
    if len(own.value) == 1:
        return [
            f"In {first}, {told[0][0]} of a hidden token is due to its own input; for {told[1][0]} "
            "of tokens another input counts for more."
        ]
    open_ones = [
        "; which of the two is more is inconclusive"
        if str(of.at(-1).minus(of.at(0)).compared(0.0)) == "inconclusive"
        else ""
        for of in (own, other)
    ]
    return [
        f"{told[0][0]} of a hidden token is due to its own input in {first}, and {told[0][1]} in "
        f"{last}{open_ones[0]}.",
        f"For {told[1][1]} of tokens another input counts for more in {last}, and for {told[1][0]} "
        f"in {first}{open_ones[1]}.",
    ]


def token_identity(result: xr.Dataset) -> list[str]:
    """Return findings on tokens identified in the last layer, by the best map and without one."""
    offset = int(np.abs(result["offset"].values).argmin())
    plain = result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))
    plain = plain.isel(layer=-1)
    found = estimates(plain, "rate_mean", ("map", "loss"))
    first = found.first()
    if first is None:
        return ["No map could be compared in the last layer."]
    rates = plain["rate_mean"].transpose("map", "loss")
    best = rates[first]
    chance = result.attrs.get("chance")
    layer = int(plain["layer"])
    by_chance = "" if chance is None else f"; by chance it would be {percent(float(chance))}"
    said = [
        f"In layer {layer}, the map {best['map'].item()!s} (distance {best['loss'].item()!s}) "
        f"finds {percent(float(best))} of tokens again{around(found.at(first))}{by_chance}."
    ]
    if others := found.rivals():
        maps = [
            f"{rates[place]['map'].item()!s} ({rates[place]['loss'].item()!s})"
            for place in (first, *others)
        ]
        said.append(f"Which map finds most is inconclusive between {listed(maps)}.")
    if "naive" in plain["map"].values and str(best["map"].item()) != "naive":
        naive = estimates(plain.sel(map="naive"), "rate_mean", ("loss",))
        if (place := naive.first()) is not None:
            value = percent(float(naive.at(place).value))
            said.append(f"Without training (naive), {value} are found{around(naive.at(place))}.")
    return said
