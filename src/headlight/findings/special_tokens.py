"""What a category of tokens gets by weight and by norm (Kobayashi et al. 2020, Section 4.2)."""

import numpy as np
import xarray as xr

from headlight.findings.observed import (
    TOTALS,
    average,
    category_label,
    occurs,
    share,
    share_of_total,
)
from headlight.findings.rules import is_far_below
from headlight.findings.wording import percent


def mean_shares(result: xr.Dataset, category: str) -> tuple[float, float]:
    """The shares of the weight and of the norm that go to a category, means over all heads.

    Args:
        result: a survey, or a result of the study of norms.
        category: of the attended tokens.
    """
    weight, norm = (_shares(result, measure, category) for measure in TOTALS)
    return float(average(weight)), float(average(norm))


def weight_and_norm(result: xr.Dataset, category: str) -> str | None:
    """What a category gets, and whether its norm is far below its weight, in one sentence.

    Args:
        result: as above; both give the same sentence of the same texts.
        category: of the attended tokens.

    Returns:
        the sentence; None where nothing was observed.
    """
    weight, norm = mean_shares(result, category)
    if not np.isfinite(weight + norm):
        return None
    said = f"{percent(weight)} of the weight goes to {category_label(result, category)}"
    if weight > 0 and is_far_below(norm, weight):
        return f"{said}, but {percent(norm)} of the norm, at most half as much."
    return f"{said}, and {percent(norm)} of the norm."


def _shares(result: xr.Dataset, measure: str, category: str) -> np.ndarray:
    """Of each head."""
    if TOTALS[measure] not in result or not occurs(result, category):
        return share(result, measure, category)
    place = [str(name) for name in result["key_category"].values].index(category)
    return share_of_total(result, TOTALS[measure])[..., place]
