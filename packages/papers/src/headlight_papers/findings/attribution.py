"""Findings on contributions of input tokens, in words."""

import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import percent


def attribution(result: xr.Dataset) -> list[str]:
    """Return findings on a token's own input, in the first and in the last layer."""
    to_itself = estimates(result, "own_mean", ("layer",), group="all")
    other = estimates(result, "not_largest", ("layer",))
    first, last = (f"layer {int(result['layer'].values[at])}" for at in (0, -1))
    rows = [
        [f"{percent(float(shares.value[at]))}{around(shares.at(at))}" for at in (0, -1)]
        for shares in (to_itself, other)
    ]
    if len(to_itself.value) == 1:
        return [
            f"In {first}, {rows[0][0]} of a hidden token is due to its own input; for {rows[1][0]} "
            "of tokens another input counts for more."
        ]
    open_ones = [
        "; which of the two is more is inconclusive"
        if str(shares.at(-1).minus(shares.at(0)).compared(0.0)) == "inconclusive"
        else ""
        for shares in (to_itself, other)
    ]
    return [
        f"{rows[0][0]} of a hidden token is due to its own input in {first}, and {rows[0][1]} in "
        f"{last}{open_ones[0]}.",
        f"For {rows[1][1]} of tokens another input counts for more in {last}, and for {rows[1][0]} "
        f"in {first}{open_ones[1]}.",
    ]
