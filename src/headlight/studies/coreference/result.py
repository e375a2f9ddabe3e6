"""The result of heads as resolvers: accuracy with named axes, and a table like Table 2."""

from collections.abc import Sequence

import numpy as np
import pandas
import xarray

from headlight.analysis.positions import head_mask
from headlight.capture import AttentionSite
from headlight.reduce import Tally, share, share_interval
from headlight.result import describe
from headlight.settings import require_choice
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


def best_heads(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """The head that finds most antecedents over all mentions, in either direction.

    It is chosen on the very mentions that it is evaluated on, as in the paper; its accuracies by
    kind are those of that same head.  Of equal heads the first counts, by layer, head and
    direction.

    Args:
        result: Of the study.
        measure: Only this one; by default all.

    Returns:
        ``measure``, ``mention_kind``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low`` and ``high``: for each measure all mentions, then the kinds.  Shares of 1, layers
        and heads from 0.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    best = [_best(result, str(name)) for name in measures]
    return pandas.DataFrame([row for rows in best for row in rows], columns=_COLUMNS)


def systems_table(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """The baselines and the best head of each measure, as in Table 2 of Clark et al. (2019).

    Args:
        result: Of the study.
        measure: Only this one; by default all.

    Returns:
        One row per baseline and measure.  Columns ``all``, ``pronoun``, ``proper`` and ``nominal``
        are accuracies in percent; ``layer``, ``head`` (zero-based) and ``direction`` say which head
        it is, and are missing for baselines.

    Raises:
        UnknownNameError: the result has no such measure.
    """
    best = best_heads(result, measure)
    place = best.groupby("measure", sort=False)[["layer", "head", "direction"]].first()
    wide = best.pivot(index="measure", columns="mention_kind", values="accuracy")
    heads = wide.join(place).reindex(place.index)
    baselines = result.baseline_accuracy.to_pandas()
    frame: pandas.DataFrame = pandas.concat([baselines, heads]).rename_axis("model")
    frame[[*MENTION_KINDS]] *= 100
    columns = [*MENTION_KINDS, "layer", "head", "direction"]
    return frame.reindex(columns=columns).astype({"layer": "Int64", "head": "Int64"})


_COLUMNS = (
    "measure", "mention_kind", "count", "layer", "head", "direction", "accuracy", "low", "high",
)  # fmt: skip


def _best(result: xarray.Dataset, measure: str) -> list[dict[str, object]]:
    """The best head of a measure, by the kinds of mentions; none without any accuracy."""
    require_choice("measure", measure, result.measure.values)
    chosen = result.sel(measure=measure)
    overall = chosen.accuracy.sel(mention_kind="all").transpose("layer", "head", "direction")
    if overall.isnull().all():
        return []
    best = chosen.isel({str(axis): int(at) for axis, at in overall.argmax(...).items()})
    head = {
        "layer": int(best["layer"]),
        "head": int(best["head"]),
        "direction": str(best["direction"].item()),
    }
    return [
        {"measure": measure, "mention_kind": kind, "count": int(cell["count"]), **head}
        | {name: float(cell[name]) for name in ("accuracy", "low", "high")}
        for kind in MENTION_KINDS
        for cell in [best.sel(mention_kind=kind)]
    ]
