"""The result of heads as resolvers: accuracy with named axes."""

from collections.abc import Sequence

import numpy as np
import xarray

from headlight.analysis.positions import head_mask
from headlight.capture import AttentionSite
from headlight.reduce import Tally, share, share_interval
from headlight.result import describe
from headlight.studies.coreference.baselines import BASELINES
from headlight.studies.coreference.observer import DIRECTIONS, MENTION_KINDS

_HEADS = ("measure", "layer", "head", "direction", "mention_kind")
_BASELINES = ("baseline", "mention_kind")

VARIABLES = {
    "correct": ("mentions whose antecedent is found", "1"),
    "accuracy": ("share of the mentions whose antecedent is found", "1"),
    "low": ("lower end of the 95% interval of the accuracy", "1"),
    "high": ("upper end of the 95% interval of the accuracy", "1"),
    "count": ("mentions asked about", "1"),
    "baseline_correct": ("mentions whose antecedent the baseline finds", "1"),
    "baseline_accuracy": ("share of the mentions whose antecedent the baseline finds", "1"),
    "baseline_low": ("lower end of the 95% interval of the baseline's accuracy", "1"),
    "baseline_high": ("upper end of the 95% interval of the baseline's accuracy", "1"),
}
"""Long name and unit of every variable."""


def to_dataset(
    tally: Tally,
    sites: Sequence[AttentionSite],
    measures: Sequence[str],
) -> xarray.Dataset:
    """Named arrays of what a pass has counted.

    Args:
        tally: What the observers counted, merged.
        sites: The layers, in the order in which they were observed.
        measures: In the order in which they were observed.
    """
    found = tally.compute()
    count, resampled = (found["count"][name] for name in ("total", "replicates"))
    there = head_mask(measures, [site.heads for site in sites])[..., None, None]
    correct = {name: np.where(there, sums, np.nan) for name, sums in found["correct"].items()}
    baseline = found["baseline"]
    low, high = share_interval(correct["replicates"], resampled)
    baseline_low, baseline_high = share_interval(baseline["replicates"], resampled)
    variables = {
        "correct": (_HEADS, correct["total"]),
        "accuracy": (_HEADS, share(correct["total"], count)),
        "low": (_HEADS, low),
        "high": (_HEADS, high),
        "count": ("mention_kind", count),
        "baseline_correct": (_BASELINES, baseline["total"]),
        "baseline_accuracy": (_BASELINES, share(baseline["total"], count)),
        "baseline_low": (_BASELINES, baseline_low),
        "baseline_high": (_BASELINES, baseline_high),
    }
    coordinates = {
        "measure": list(measures),
        "layer": [site.layer for site in sites],
        "head": list(range(max(site.heads for site in sites))),
        "direction": list(DIRECTIONS),
        "mention_kind": list(MENTION_KINDS),
        "baseline": list(BASELINES),
    }
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)
