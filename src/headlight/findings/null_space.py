"""Sentences on the null space, and on effective attention."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import average, estimates
from headlight.findings.interval_phrases import around
from headlight.findings.phrases import number, percent


def null_space(result: xr.Dataset) -> list[str]:
    """Return findings on attention that no output shows, and on effective attention."""
    if "null_dimension" not in result:
        return []
    dimension = float(average(np.asarray(result["null_dimension"].values, dtype=np.float64)))
    weights = result["text_count"]
    keys = float(result["keys_mean"].weighted(weights).mean())
    correlation = float(result["effective_correlation"].weighted(weights).mean())
    whole = estimates(result, "effective_correlation_whole", ())
    if not dimension > 0:
        return [
            f"Texts have {number(keys)} tokens on average, fewer than heads have dimensions: the "
            "null space is empty, and effective attention is the weight itself."
        ]
    unseen = (
        f"In texts of {number(keys)} tokens on average, {number(dimension)} dimensions of a row of "
        f"attention ({percent(dimension / keys)}) cannot be seen in the output of a head."
    )
    if not np.isfinite(correlation):
        even = "Attention is so even that it correlates with nothing, effective attention neither."
        return [unseen, even]
    sentence = (
        f"Effective attention correlates with the weight by {number(correlation)} on average"
        f"{around(whole, number, share=False)}."
    )
    return [unseen, sentence]
