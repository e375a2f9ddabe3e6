"""Findings of studies of what words have to do with each other."""

from collections.abc import Hashable, Mapping
from typing import Any

import xarray as xr

from headlight.findings.answers.words import (
    candidate_heads,
    estimate_of_row,
    head_of_row,
    undecided_heads,
    undecided_rows,
)
from headlight.findings.estimates import Estimate, around, beside
from headlight.findings.what_was_read import independent_units
from headlight.findings.wording import interval, percent
from headlight_papers.findings.coreference import ALL as EVERY_MENTION, best_heads


def coreference(result: xr.Dataset) -> list[str]:
    """The best head beside the best baseline."""
    found = best_heads(result)
    best = found[found["mention_kind"] == EVERY_MENTION].sort_values("accuracy", ascending=False)
    every = result.sel(mention_kind=EVERY_MENTION)
    baselines = Estimate.with_ends(
        *(every[f"baseline_{each}"].values for each in ("accuracy", "low", "high"))
    )
    place = baselines.first()
    if not len(best) or place is None:
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    rule = baselines.at(place)
    name, rate = str(result["baseline"].values[place[0]]), percent(float(rule.value))
    candidates = result.sizes["measure"] * candidate_heads(result)
    head = estimate_of_row(row).chosen(candidates, independent_units(result))
    called = f"the {rate}{around(rule)} of the best baseline ({name})"
    return [
        f"{head_of_row(result, row)} finds the antecedent of {percent(row['accuracy'])} of "
        f"{int(row['count']):,} mentions{interval(row['low'], row['high'])}, "
        f"{beside(head, rule, called)}." + undecided_heads(every)
    ]


def parser_probes(result: xr.Dataset) -> list[str]:
    """The best probe that sees attention beside the best that sees none."""
    scores = result.assign(
        {end: result[end].sel(metric="uas", drop=True) for end in ("low", "high")}
    )[["score", "low", "high"]]
    frame = scores.sel(metric="uas").to_dataframe().reset_index()
    frame["probe"] = [str(name).replace("_", " ") for name in result["probe"].values]
    frame["measure"] = list(map(str, result["measure"].values))
    rows = frame.sort_values("score", ascending=False, kind="stable")
    sees = (rows["measure"] != "") & (rows["probe"] != "random attention")
    with_it, without = (rows[sees == each].to_dict("records") for each in (True, False))
    if not with_it:
        return [_probe(without[0]) + "."] if without else ["No probe was trained."]
    said = _probe(with_it[0])
    if without:
        other = without[0]
        ends = interval(other["low"], other["high"])
        called = f"{percent(other['score'])}{ends} without the attention of the model"
        called += f" ({other['probe']})"
        best, second = (estimate_of_row(row, "score") for row in (with_it[0], other))
        chosen = best.chosen(len(with_it), independent_units(result))
        said += f", {beside(chosen, second, called)}"
    names = list(map(_named, with_it))
    return [f"{said}.{undecided_rows(with_it, 'score', names, 'which probe finds most')}"]


def _named(row: Mapping[Hashable, Any]) -> str:
    return " by ".join(filter(None, (row["probe"], row["measure"])))


def _probe(row: Mapping[Hashable, Any]) -> str:
    return (
        f"The probe {_named(row)} finds the governor of {percent(row['score'])} of words"
        f"{interval(row['low'], row['high'])}"
    )
