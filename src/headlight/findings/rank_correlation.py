"""Sentences on whether weight and length go together."""

import numpy as np
import xarray as xr

from headlight.findings.candidates import APART
from headlight.findings.category_shares import occurs
from headlight.findings.estimates import average
from headlight.findings.interval_phrases import NO_INTERVAL
from headlight.findings.phrases import category_label
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences
from headlight.findings.variables import observed


def ranks(result: xr.Dataset) -> list[str]:
    """Say whether weight and length go together, pooled and within heads."""
    return sentences(result, [_RULE])


def _strongest(result: xr.Dataset) -> Evidence | None:
    if "weight_norm_spearman" not in result:
        return None
    pooled = observed(result, "weight_norm_spearman", ("key_group",))
    names = [str(name) for name in result["key_group"].values]
    here = [at for at, name in enumerate(names) if np.isfinite(pooled[at]) and occurs(result, name)]
    if not here:
        return None
    at = max(here, key=lambda place: abs(pooled[place]))
    heads = average(observed(result, "weight_norm_spearman_by_head", key_group=names[at])).item()
    is_known = not np.isnan(heads)
    difference = ": the difference is one between heads, whose lengths differ"
    return Evidence(
        values={
            "tokens": category_label(result, names[at]),
            "pooled": float(pooled[at]),
            "heads": heads if is_known else None,
            "difference": difference if is_known and not abs(pooled[at] - heads) < APART else None,
            "why": NO_INTERVAL,
        }
    )


_RULE = Rule(
    topic="ranks",
    evidence=_strongest,
    templates={
        HOLDS: "In these texts weight and length go together most for {tokens}: Spearman's ρ of α "
        "and ‖f(x)‖ is {pooled:number} over the pairs of all heads pooled"
        "[, and {heads:number} within a head on average][{difference}]; {why}.",
    },
)
