"""The result of heads as resolvers: accuracy with named axes, and a table like Table 2."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray
from jaxtyping import Float

from headlight.analysis.gradient_passes import head_mask
from headlight.capture import AttentionSite
from headlight.reduce import Tally
from headlight.result import FORMAT
from headlight.studies.coreference.baselines import BASELINES
from headlight.studies.coreference.observer import DIRECTIONS, MENTION_KINDS
from headlight.studies.dependency.result import interval

STAGE = "coreference"
HEADS = ("measure", "layer", "head", "direction", "mention_kind")


def dataset(
    tally: Tally,
    sites: Sequence[AttentionSite],
    measures: Sequence[str],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Named arrays of what a pass has counted.

    Args:
        tally: What the observers counted, merged.
        sites: The layers, in the order in which they were observed.
        measures: In the order in which they were observed.
        attributes: What would have to be repeated to get the same.
    """
    found = tally.compute()
    count, resampled = (found["count"][name] for name in ("total", "replicates"))
    there = head_mask(measures, [site.heads for site in sites])[..., None, None]
    correct = {name: np.where(there, sums, np.nan) for name, sums in found["correct"].items()}
    baseline = found["baseline"]
    low, high = interval(correct["replicates"], resampled)
    baseline_low, baseline_high = interval(baseline["replicates"], resampled)
    variables = {
        "correct": (HEADS, correct["total"]),
        "accuracy": (HEADS, _ratio(correct["total"], count)),
        "low": (HEADS, low),
        "high": (HEADS, high),
        "count": ("mention_kind", count),
        "baseline_correct": (("baseline", "mention_kind"), baseline["total"]),
        "baseline_accuracy": (("baseline", "mention_kind"), _ratio(baseline["total"], count)),
        "baseline_low": (("baseline", "mention_kind"), baseline_low),
        "baseline_high": (("baseline", "mention_kind"), baseline_high),
    }
    coordinates = {
        "measure": list(measures),
        "layer": [site.layer for site in sites],
        "head": list(range(max(site.heads for site in sites))),
        "direction": list(DIRECTIONS),
        "mention_kind": list(MENTION_KINDS),
        "baseline": list(BASELINES),
    }
    described = {name: value for name, value in attributes.items() if value is not None}
    return xarray.Dataset(
        variables, coords=coordinates, attrs={**described, "format": FORMAT, "stage": STAGE}
    )


def best_heads(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """The baselines and the best head of each measure, as in Table 2 of Clark et al. (2019).

    The best head is the one that is right most often over all mentions, in either direction, found
    on the very mentions that it is then compared on, as in the paper; its accuracies by kind are
    those of that same head.  Of equal heads the first is taken.

    Args:
        result: What `coreference_heads` found.
        measure: Only this one; by default all.

    Returns:
        One row per baseline and measure.  Columns ``all``, ``pronoun``, ``proper`` and ``nominal``
        are accuracies in percent; ``layer``, ``head`` (zero-based) and ``direction`` say which head
        it is, and are missing for baselines.
    """
    rows = [
        {"model": name, **_percent(result.baseline_accuracy.sel(baseline=name))}
        for name in result.baseline.values.tolist()
    ]
    for name in result.measure.values.tolist() if measure is None else [measure]:
        accuracy = result.accuracy.sel(measure=name)
        overall = accuracy.sel(mention_kind="all")
        if overall.isnull().all():
            continue
        place = {str(axis): int(at) for axis, at in overall.argmax(...).items()}
        best = accuracy.isel(place)
        rows.append(
            {
                "model": name,
                **_percent(best),
                "layer": int(best.layer),
                "head": int(best["head"]),
                "direction": str(best.direction.item()),
            }
        )
    columns = [*MENTION_KINDS, "layer", "head", "direction"]
    frame = pandas.DataFrame(rows).set_index("model").reindex(columns=columns)
    return frame.astype({"layer": "Int64", "head": "Int64"})


def _percent(accuracy: xarray.DataArray) -> dict[str, float]:
    kinds = accuracy.mention_kind.values.tolist()
    return {kind: 100 * float(accuracy.sel(mention_kind=kind)) for kind in kinds}


def _ratio(
    correct: Float[np.ndarray, "*any kind"], count: Float[np.ndarray, " kind"]
) -> Float[np.ndarray, "*any kind"]:
    """Accuracy; NaN where nothing was asked."""
    ratio: np.ndarray = correct / np.where(count > 0, count, np.nan)
    return ratio
