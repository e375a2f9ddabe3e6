"""Sentences on the null space, and on effective attention."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import average, estimates
from headlight.findings.sentence_rules import HOLDS, Evidence, Rule, sentences


def null_space(result: xr.Dataset) -> list[str]:
    """Return findings on attention that no output shows, and on effective attention."""
    return sentences(result, _RULES)


def _dimension(result: xr.Dataset) -> float:
    return float(average(np.asarray(result["null_dimension"].values, dtype=np.float64)))


def _unseen(result: xr.Dataset) -> Evidence | None:
    if "null_dimension" not in result:
        return None
    dimension = _dimension(result)
    keys = float(result["keys_mean"].weighted(result["text_count"]).mean())
    values = {"keys": keys, "dimension": dimension, "share": dimension / keys}
    return Evidence(values=values, template="unseen" if dimension > 0 else "empty")


def _effective(result: xr.Dataset) -> Evidence | None:
    if "null_dimension" not in result or not _dimension(result) > 0:
        return None
    correlation = float(result["effective_correlation"].weighted(result["text_count"]).mean())
    if not np.isfinite(correlation):
        return Evidence(values={}, template="even")
    whole = estimates(result, "effective_correlation_whole", ())
    return Evidence(values={"correlation": correlation, "whole": whole})


_RULES = (
    Rule(
        topic="null space",
        evidence=_unseen,
        templates={
            "empty": "Texts have {keys:number} tokens on average, fewer than heads have "
            "dimensions: the null space is empty, and effective attention is the weight itself.",
            "unseen": "In texts of {keys:number} tokens on average, {dimension:number} dimensions "
            "of a row of attention ({share:percent}) cannot be seen in the output of a head.",
        },
    ),
    Rule(
        topic="effective",
        evidence=_effective,
        templates={
            "even": "Attention is so even that it correlates with nothing, effective attention "
            "neither.",
            HOLDS: "Effective attention correlates with the weight by {correlation:number} on "
            "average{whole:ends}.",
        },
    ),
)
