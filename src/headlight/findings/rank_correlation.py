"""Sentences on whether weight and length go together."""

import numpy as np
import xarray as xr

from headlight.findings.candidates import APART
from headlight.findings.category_shares import occurs
from headlight.findings.estimates import average
from headlight.findings.interval_phrases import NO_INTERVAL
from headlight.findings.phrases import category_label, number
from headlight.findings.variables import observed


def ranks(result: xr.Dataset) -> list[str]:
    """Say whether weight and length go together, pooled and within heads."""
    if "weight_norm_spearman" not in result:
        return []
    pooled = observed(result, "weight_norm_spearman", ("key_group",))
    names = [str(name) for name in result["key_group"].values]
    here = [at for at, name in enumerate(names) if np.isfinite(pooled[at]) and occurs(result, name)]
    if not here:
        return []
    at = max(here, key=lambda place: abs(pooled[place]))
    heads = average(observed(result, "weight_norm_spearman_by_head", key_group=names[at])).item()
    same = abs(pooled[at] - heads) < APART
    within = "" if np.isnan(heads) else f", and {number(heads)} within a head on average"
    differ = ": the difference is one between heads, whose lengths differ"
    return [
        f"In these texts weight and length go together most for "
        f"{category_label(result, names[at])}: Spearman's ρ of α and ‖f(x)‖ is "
        f"{number(pooled[at])} over the pairs of all heads pooled{within}"
        f"{'' if same or not within else differ}; {NO_INTERVAL}."
    ]
