"""Findings on tokens that are identified again, in words."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import listed, percent


def token_identity(result: xr.Dataset) -> list[str]:
    """Return findings on tokens identified in the last layer, by the best map and without one."""
    offset = int(np.abs(result["offset"].values).argmin())
    plain = result.isel(offset=offset, fraction=int(result["fraction"].values.argmax()))
    plain = plain.isel(layer=-1)
    shares = estimates(plain, "rate_mean", ("map", "loss"))
    first = shares.first()
    if first is None:
        return ["No map could be compared in the last layer."]
    rates = plain["rate_mean"].transpose("map", "loss")
    best = rates[first]
    chance = result.attrs.get("chance")
    layer = int(plain["layer"])
    by_chance = "" if chance is None else f"; by chance it would be {percent(float(chance))}"
    sentences = [
        f"After layer {layer}, {percent(float(best))}{around(shares.at(first))} of input tokens "
        f"can be told from their hidden vectors{by_chance}. That is by the map "
        f"{best['map'].item()!s} (distance {best['loss'].item()!s})."
    ]
    if others := shares.rivals():
        maps = [
            f"{rates[place]['map'].item()!s} ({rates[place]['loss'].item()!s})"
            for place in (first, *others)
        ]
        sentences.append(f"Which map finds most is inconclusive between {listed(maps)}.")
    if "naive" in plain["map"].values and str(best["map"].item()) != "naive":
        naive = estimates(plain.sel(map="naive"), "rate_mean", ("loss",))
        if (place := naive.first()) is not None:
            value = percent(float(naive.at(place).value))
            sentences.append(
                f"Without training (naive), {value} are found{around(naive.at(place))}."
            )
    return sentences
