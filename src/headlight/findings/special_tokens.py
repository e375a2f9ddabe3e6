"""Share of a category by weight and by norm (Kobayashi et al. 2020, Section 4.2)."""

import numpy as np
import xarray as xr

from headlight.findings.estimates import Estimate, around, estimates
from headlight.findings.observed import (
    TOTALS,
    category_label,
    share,
    shares_by_key,
)
from headlight.findings.rules import FAR_BELOW
from headlight.findings.wording import percent


def mean_shares(result: xr.Dataset, category: str) -> tuple[float, float]:
    """The shares of the weight and of the norm that go to a category, means over all heads.

    Args:
        result: a survey.
        category: of the attended tokens.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    return float(weight.value), float(norm.value)


def weight_and_norm(result: xr.Dataset, category: str) -> str | None:
    """Return the share of a category, and whether its norm is far below its weight.

    Args:
        result: a survey.
        category: of the attended tokens.

    Returns:
        the sentence; None where nothing was observed.
    """
    weight, norm = (shares_of(result, measure, category).mean() for measure in TOTALS)
    if not np.isfinite(weight.value + norm.value):
        return None
    said = (
        f"{percent(float(weight.value))} of the weight{around(weight)} goes to "
        f"{category_label(result, category)}"
    )
    little = f"{percent(float(norm.value))} of the norm{around(norm)}"
    beside = norm.minus(weight.times(FAR_BELOW))
    verdict = str(beside.compared(0.0)) if weight.value > 0 else "above"
    if verdict == "below":
        return f"{said}, but {little}, at most half as much."
    if verdict == "inconclusive":
        return f"{said}, and {little}; whether that is at most half as much is inconclusive."
    return f"{said}, and {little}."


def shares_of(result: xr.Dataset, measure: str, category: str) -> Estimate:
    """Return the share of a category by a measure, [layer, head].

    Args:
        result: a survey.
        measure: of heads.
        category: of the attended tokens; ``sink`` where sinks were looked for.
    """
    if "group_total" in result and category not in result["key_category"].values:
        names, shares = shares_by_key(result, measure)
        of_all = shares[..., names.index(category)]
        return Estimate.with_ends(of_all, *(np.full_like(of_all, np.nan) for _ in range(2)))
    found = estimates(result, "share", measure=measure, query_category="all", key_category=category)
    value = share(result, measure, category)
    low, high = (np.where(np.isfinite(value), each, np.nan) for each in (found.low, found.high))
    return Estimate.with_ends(value, low, high)
