"""The answer of the study of what hidden tokens come from."""

import numpy as np
import xarray as xr

from headlight.findings.wording import interval, listed, number, percent
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
