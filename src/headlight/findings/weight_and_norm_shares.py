"""Weight of a category of tokens beside its norm."""

import numpy as np
import xarray as xr

from headlight.findings.category_shares import TOTALS, share, shares_by_key
from headlight.findings.estimates import Estimate, estimates
from headlight.findings.phrases import category_label
from headlight.findings.sentence_rules import write
from headlight.findings.thresholds import FAR_BELOW


def mean_shares(result: xr.Dataset, category: str) -> tuple[float, float]:
    """Return the shares of the weight and of the norm of a category, means over all heads.

    Args:
        result: Survey.
        category: Category of the attended tokens.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    return float(weight.value), float(norm.value)


def weight_and_norm(result: xr.Dataset, category: str) -> str | None:
    """Return the share of a category, and whether its norm is far below its weight.

    Args:
        result: Survey.
        category: Category of the attended tokens.

    Returns:
        The sentence; None where nothing was observed.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    if not np.isfinite(weight.value + norm.value):
        return None
    beside = norm.minus(weight.times(FAR_BELOW))
    verdict = str(beside.compared(0.0)) if weight.value > 0 else "above"
    values = {"weight": weight, "norm": norm, "category": category_label(result, category)}
    return write(result, _TEMPLATES[verdict], values)


_TEMPLATES = {
    "below": "{weight:percent} of the weight{weight:interval} goes to {category}, but "
    "{norm:percent} of the norm{norm:interval}, at most half as much.",
    "inconclusive": "{weight:percent} of the weight{weight:interval} goes to {category}, and "
    "{norm:percent} of the norm{norm:interval}; whether that is at most half as much is "
    "inconclusive.",
    "above": "{weight:percent} of the weight{weight:interval} goes to {category}, and "
    "{norm:percent} of the norm{norm:interval}.",
}
"""Sentences by the verdict on the norm beside half of the weight."""


def shares_of(result: xr.Dataset, measure: str, category: str) -> Estimate:
    """Return the share of a category by a measure, [layer, head].

    Args:
        result: Survey.
        measure: Measure of heads.
        category: Category of the attended tokens; ``sink`` where sinks were sought.
    """
    if "group_total" in result and category not in result["key_category"].values:
        names, shares = shares_by_key(result, measure)
        return Estimate.with_ends(shares[..., names.index(category)])
    by_head = estimates(
        result, "share", measure=measure, query_category="all", key_category=category
    )
    value = share(result, measure, category)
    low, high = (np.where(np.isfinite(value), end, np.nan) for end in (by_head.low, by_head.high))
    return Estimate.with_ends(value, low, high)
