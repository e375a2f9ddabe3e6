"""Sentences on the tokens to which the loss depends most on attention."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, estimates
from headlight.findings.interval_phrases import NO_INTERVAL
from headlight.findings.phrases import category_label, listed
from headlight.findings.sentence_rules import Evidence, Rule, sentences


def importance(result: xr.Dataset) -> list[str]:
    """Say to which tokens the loss depends most on attention."""
    return sentences(result, [_RULE])


def _largest_mean(result: xr.Dataset) -> Evidence | None:
    if "importance" not in result:
        return None
    means = {
        name: estimates(result, "importance", importance_query="all", importance_key=name).mean()
        for name in map(str, result["importance_key"].values)
    }
    order = sorted(
        (name for name in means if means[name].value > 0), key=lambda name: -means[name].value
    )
    if not order:
        return Evidence(values={}, template="nothing")
    labels = {name: category_label(result, name) for name in order}
    most, least = (means[order[at]] for at in (0, -1))
    # The unmasked are all tokens but the mask tokens, and no rivals of their parts.
    parts = [name for name in order if name != "unmasked"] if order[0] != "unmasked" else order
    ends = ([getattr(means[name], end) for name in parts] for end in ("value", "low", "high"))
    of_parts = Estimate.with_ends(*map(np.array, ends))
    others = [labels[parts[at]] for (at,) in of_parts.rivals()]
    several, is_known = len(order) > 1, of_parts.known
    return Evidence(
        values={
            "most": labels[order[0]],
            "ties": listed([labels[order[0]], *others]),
            "highest": most,
            "ratio": float(most.value / least.value) if several else None,
            "least": labels[order[-1]],
            "lowest": least,
            "where": ", where it depends least" if several and is_known and not others else None,
            "why": None if is_known else NO_INTERVAL,
        },
        template="ties" if others else "first",
    )


_RULE = Rule(
    topic="importance",
    evidence=_largest_mean,
    templates={
        "nothing": "The loss depends on attention to no token: all gradients are 0.",
        "first": "The loss depends most on attention to {most}: the mean |∂L/∂α| is "
        "{highest:estimate}[, {ratio:number} times that of attention to {least}, {lowest:estimate}]"
        "[{where}][; this is inconclusive: {why}].",
        "ties": "Attention to which tokens the loss depends most on is inconclusive between "
        "{ties}: of {most} the mean |∂L/∂α| is {highest:estimate}"
        "[, {ratio:number} times that of attention to {least}, {lowest:estimate}]"
        "[; this is inconclusive: {why}].",
    },
)
