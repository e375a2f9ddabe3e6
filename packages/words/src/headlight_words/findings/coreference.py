"""Sentences of the study of coreference, and tables of its heads and systems."""

import pandas
import xarray
import xarray as xr

from headlight.findings.estimates import estimates
from headlight.findings.interval_phrases import around, beside, interval
from headlight.findings.phrases import percent
from headlight.findings.what_was_read import independent_units
from headlight.settings import require_choice
from headlight_words.findings.dependency import head_of_row, undecided_heads

ALL = "all"
"""Kind that stands for every mention."""


def best_heads(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """Return the head that finds most antecedents over all mentions, in either direction.

    It is chosen on the very mentions that it is evaluated on, as in the paper; its accuracies by
    kind are those of that same head.  Of equal heads the first is chosen, by layer, head and
    direction.

    Args:
        result: Result of the study.
        measure: Only measure to list; by default all.

    Returns:
        ``measure``, ``mention_kind``, ``count``, ``layer``, ``head``, ``direction``, ``accuracy``,
        ``low`` and ``high``: for each measure all mentions, then the kinds.  Shares of 1, layers
        and heads from 0.

    Raises:
        UnknownNameError: The result has no such measure.
    """
    measures = result.measure.values if measure is None else [measure]
    best = [_best(result, str(name)) for name in measures]
    return pandas.DataFrame([row for rows in best for row in rows], columns=_COLUMNS)


def systems_table(result: xarray.Dataset, measure: str | None = None) -> pandas.DataFrame:
    """Return the baselines and each measure's best head, as in Table 2 of Clark et al. (2019).

    Args:
        result: Result of the study.
        measure: Only measure to list; by default all.

    Returns:
        One row per baseline and measure.  Columns ``all``, ``pronoun``, ``proper`` and ``nominal``
        are accuracies in percent; ``layer``, ``head`` (zero-based) and ``direction`` say which head
        it is, and are missing for baselines.

    Raises:
        UnknownNameError: The result has no such measure.
    """
    best = best_heads(result, measure)
    place = best.groupby("measure", sort=False)[["layer", "head", "direction"]].first()
    wide = best.pivot(index="measure", columns="mention_kind", values="accuracy")
    heads = wide.join(place).reindex(place.index)
    baselines = result.baseline_accuracy.to_pandas()
    frame: pandas.DataFrame = pandas.concat([baselines, heads]).rename_axis("model")
    kinds = [str(kind) for kind in result.mention_kind.values]
    frame[kinds] *= 100
    columns = [*kinds, "layer", "head", "direction"]
    return frame.reindex(columns=columns).astype({"layer": "Int64", "head": "Int64"})


_COLUMNS = (
    "measure",
    "mention_kind",
    "count",
    "layer",
    "head",
    "direction",
    "accuracy",
    "low",
    "high",
)


def _best(result: xarray.Dataset, measure: str) -> list[dict[str, object]]:
    """Return the best head of a measure, by kinds of mentions; no rows without any accuracy."""
    require_choice("measure", measure, result.measure.values)
    chosen = result.sel(measure=measure)
    overall = chosen.accuracy.sel(mention_kind=ALL).transpose("layer", "head", "direction")
    if overall.isnull().all():
        return []
    best = chosen.isel({str(axis): int(at) for axis, at in overall.argmax(...).items()})
    head = {
        "layer": int(best["layer"]),
        "head": int(best["head"]),
        "direction": str(best["direction"].item()),
    }
    numbers = estimates(best, "accuracy", ("mention_kind",))
    score = {"accuracy": numbers.value, "low": numbers.low, "high": numbers.high}
    return [
        {"measure": measure, "mention_kind": kind, "count": int(best["count"][at]), **head}
        | {name: float(values[at]) for name, values in score.items()}
        for at, kind in enumerate(map(str, result.mention_kind.values))
    ]


def coreference(result: xr.Dataset) -> list[str]:
    """Return findings on the best head beside the best baseline."""
    table = best_heads(result)
    best = table[table["mention_kind"] == ALL].sort_values("accuracy", ascending=False)
    of_all_mentions = result.sel(mention_kind=ALL)
    baselines = estimates(of_all_mentions, "baseline_accuracy", ("baseline",))
    place = baselines.first()
    if not len(best) or place is None:
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    rule = baselines.at(place)
    name, rate = str(result["baseline"].values[place[0]]), percent(float(rule.value))
    heads = estimates(of_all_mentions, "accuracy", ("measure", "layer", "head", "direction"))
    at = heads.first()
    assert at is not None  # noqa: S101 - there is a best head
    beyond = heads.minus(rule).simultaneous(independent_units(result)).at(at)
    called = f"the {rate}{around(rule)} of the best baseline ({name})"
    return [
        f"{head_of_row(result, row)} finds the antecedent of {percent(row['accuracy'])} of "
        f"{int(row['count']):,} mentions{interval(row['low'], row['high'])}, "
        f"{beside(heads.at(at), rule, called, beyond)}." + undecided_heads(of_all_mentions)
    ]
