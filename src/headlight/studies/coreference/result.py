"""The result of heads as resolvers: accuracy with named axes, and a table like Table 2."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.analysis.positions import head_mask
from headlight.capture import AttentionSite
from headlight.reduce import Tally, share, share_interval
from headlight.result import FORMAT
from headlight.settings import require_choice
from headlight.studies.coreference.baselines import BASELINES
from headlight.studies.coreference.observer import DIRECTIONS, MENTION_KINDS

STAGE = "coreference"
HEADS = ("measure", "layer", "head", "direction", "mention_kind")


def to_dataset(
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
    low, high = share_interval(correct["replicates"], resampled)
    baseline_low, baseline_high = share_interval(baseline["replicates"], resampled)
    variables = {
        "correct": (HEADS, correct["total"]),
        "accuracy": (HEADS, share(correct["total"], count)),
        "low": (HEADS, low),
        "high": (HEADS, high),
        "count": ("mention_kind", count),
        "baseline_correct": (("baseline", "mention_kind"), baseline["total"]),
        "baseline_accuracy": (("baseline", "mention_kind"), share(baseline["total"], count)),
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
