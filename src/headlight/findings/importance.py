"""Sentences on the tokens to which the loss depends most on attention."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import NO_INTERVAL, around
from headlight.findings.phrases import category_label, listed, number


def importance(result: xr.Dataset) -> list[str]:
    """Say to which tokens the loss depends most on attention."""
    if "importance" not in result:
        return []
    means = {
        name: estimates(result, "importance", importance_query="all", importance_key=name).mean()
        for name in map(str, result["importance_key"].values)
    }
    order = sorted(
        (name for name in means if means[name].value > 0), key=lambda name: -means[name].value
    )
    if not order:
        return ["The loss depends on attention to no token: all gradients are 0."]
    labels = {name: category_label(result, name) for name in order}
    most, least = (means[order[at]] for at in (0, -1))
    # The unmasked are all tokens but the mask tokens, and no rivals of their parts.
    parts = [name for name in order if name != "unmasked"] if order[0] != "unmasked" else order
    ends = ([getattr(means[name], end) for name in parts] for end in ("value", "low", "high"))
    of_parts = Estimate.with_ends(*map(np.array, ends))
    others = [labels[parts[at]] for (at,) in of_parts.rivals()]
    unknown = "" if of_parts.known else f"; this is inconclusive: {NO_INTERVAL}"
    highest = f"the mean |∂L/∂α| is {number(float(most.value))}{around(most, number, share=False)}"
    sentence = f"The loss depends most on attention to {labels[order[0]]}: {highest}"
    if others:
        sentence = (
            f"Attention to which tokens the loss depends most on is inconclusive between "
            f"{listed([labels[order[0]], *others])}: of {labels[order[0]]} {highest}"
        )
    if len(order) > 1:
        sentence += (
            f", {number(float(most.value / least.value))} times that of attention to "
            f"{labels[order[-1]]}, {number(float(least.value))}{around(least, number, share=False)}"
        )
        sentence += "" if others or unknown else ", where it depends least"
    sentence += unknown
    return [f"{sentence}."]
