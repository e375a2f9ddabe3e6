"""Answers of studies that know what words have to do with each other."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.coreference import ALL as EVERY_MENTION, best_heads as best_resolvers
from headlight.findings.dependency import ALL as EVERY_WORD, best_heads as best_parsers
from headlight.findings.observed import name_of
from headlight.findings.rules import decided
from headlight.findings.speech import are_of_speech, times_known, ways_to_time
from headlight.findings.what_was_read import has_interval
from headlight.findings.wording import interval, percent, seconds

RARE = 100
"""Relations of fewer words, or of a twentieth of a small treebank, are not counted."""

COMPARED = {
    "above": "which is more than {}",
    "below": "which is less than {}",
    "not decided": "of which the interval reaches {}: not decided",
}


def dependency(result: xr.Dataset) -> list[str]:
    """The best head beside the best fixed offset, and how many relations have a better head."""
    fewest = min(RARE, int(result["count"].sel(relation=EVERY_WORD)) // 20)
    found = best_parsers(result, min_count=fewest)
    every = found[found["relation"] == EVERY_WORD].sort_values("accuracy", ascending=False)
    best = every.to_dict("records")[0]
    said = [
        f"{name_of(result, best['layer'], best['head'])} by {best['measure']} finds the governor "
        f"of {percent(best['accuracy'])} of words{interval(best['low'], best['high'])}, "
        + COMPARED[decided(best["accuracy"], best["low"], best["high"], best["baseline"])].format(
            f"the best fixed offset ({percent(best['baseline'])})"
        )
        + "."
    ]
    relations = found[(found["measure"] == best["measure"]) & (found["relation"] != EVERY_WORD)]
    if len(relations):
        better = int((relations["low"] > relations["baseline"]).sum())
        said.append(
            f"Of {len(relations)} relations, {better} have a head that is better than any offset, "
            "its interval included (heads are chosen on these very words)."
        )
    return said


def coreference(result: xr.Dataset) -> list[str]:
    """The best head beside the best baseline."""
    found = best_resolvers(result)
    best = found[found["mention_kind"] == EVERY_MENTION].sort_values("accuracy", ascending=False)
    rules = result["baseline_accuracy"].sel(mention_kind=EVERY_MENTION).to_series()
    if not len(best) or not rules.notna().any():
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    name, rate = str(rules.idxmax()), float(rules.max())
    head = f"{name_of(result, row['layer'], row['head'])} by {row['measure']}"
    baseline = f"the best baseline ({name}, {percent(rate)})"
    low, high, compared = np.nan, np.nan, "beside {}"
    if has_interval(result):
        low, high = row["low"], row["high"]
        compared = COMPARED[decided(row["accuracy"], low, high, rate)]
    return [
        f"{head} finds the antecedent of {percent(row['accuracy'])} of {int(row['count']):,} "
        f"mentions{interval(low, high)}, {compared.format(baseline)}."
    ]


def parser_probes(result: xr.Dataset) -> list[str]:
    """The best probe that sees attention beside the best that sees none."""
    scores = result.assign(
        {end: result[end].sel(metric="uas", drop=True) for end in ("low", "high")}
    )[["score", "low", "high"]]
    frame = scores.sel(metric="uas").to_dataframe().reset_index()
    frame["probe"] = [str(name).replace("_", " ") for name in result["probe"].values]
    frame["measure"] = list(map(str, result["measure"].values))
    sees = (frame["measure"] != "") & (frame["probe"] != "random attention")
    rows = frame.sort_values("score", ascending=False)
    with_it, without = (rows[sees == each].to_dict("records") for each in (True, False))
    if not with_it:
        return [_probe(without[0]) + "."] if without else ["No probe was trained."]
    best = with_it[0]
    said = _probe(best)
    if without:
        other = without[0]
        said += ", " + COMPARED[
            decided(best["score"], best["low"], best["high"], other["score"])
        ].format(f"{percent(other['score'])} without the attention of the model ({other['probe']})")
    return [f"{said}."]


def _probe(row: Mapping[Hashable, Any]) -> str:
    by = f" by {row['measure']}" if row["measure"] else ""
    return (
        f"The probe {row['probe']}{by} finds the governor of {percent(row['score'])} of words"
        f"{interval(row['low'], row['high'])}"
    )


def alignment(result: xr.Dataset) -> list[str]:
    """What has the lowest error rate, and what comes next."""
    if are_of_speech(result):
        return _times(result)
    found = pd.DataFrame([*_rates(result)]).sort_values("rate", kind="stable").to_dict("records")
    best = found[0]
    said = [
        f"Words are linked best by {best['name']}: its alignment error rate is "
        f"{percent(best['rate'])}{interval(best['low'], best['high'])}, with the layer chosen on "
        "these very gold links."
    ]
    if len(found) > 1:
        other = found[1]
        apart = best["high"] < other["low"]
        said.append(
            f"{other['name'][0].upper()}{other['name'][1:]} comes next with "
            f"{percent(other['rate'])}{interval(other['low'], other['high'])}"
            + ("." if apart else "; the intervals overlap, which does not decide between them.")
        )
    return said


def _times(result: xr.Dataset) -> list[str]:
    """Which way finds when words are said, beside the heads that were chosen before."""
    found = ways_to_time(result).to_dict("records")
    if not times_known(result):
        best = found[0]
        return [
            f"Of what words give to sound, {best['way']} by {best['measure']} gives most to one "
            f"path through it, {percent(best['on_path'])}"
            f"{interval(best['on_path_low'], best['on_path_high'])}; no times of words are known, "
            "so that it cannot be said how far this is from them."
        ]
    others = [row for row in found if row["way"] != "chosen heads"]
    chosen = [row for row in found if row["way"] == "chosen heads"]
    said = [
        f"{_way(row)} {'find' if row['way'] == 'chosen heads' else 'finds'} the beginnings of "
        "words with a mean error of "
        f"{seconds(row['start_error'])}"
        f"{interval(row['start_error_low'], row['start_error_high'], seconds)}."
        for row in (*chosen[:1], others[0])
    ]
    if chosen:
        said[1] = f"{said[1][:-1]}; it was chosen by these very times, and the others were not."
    return said


def _way(row: Mapping[Hashable, Any]) -> str:
    name = f"The {row['way']} by {row['measure']}"
    return f"{name}, where the word is {'read' if row['step'] == 'input' else 'predicted'},"


def _rates(result: xr.Dataset) -> list[dict[str, object]]:
    """The best layer of each measure and step, or extraction, and measures of the input."""
    rows: list[dict[str, object]] = []
    for prefix in ("", "similarity_", "input_"):
        name = f"{prefix}error_rate"
        if name not in result:
            continue
        rates = result[name]
        labels = [str(dim) for dim in rates.dims if dim != "layer"]
        for label, cell in rates.stack(label=labels).groupby("label", squeeze=False):
            if not bool(cell.notnull().any()):
                continue
            at = cell.isel(label=0).unstack() if "layer" not in cell.dims else cell.isel(label=0)
            where = dict(zip(labels, label if isinstance(label, tuple) else (label,), strict=True))
            if "layer" in at.dims:
                where["layer"] = int(result["layer"].values[int(at.argmin("layer"))])
            ends = [float(result[f"{name}_{end}"].sel(where)) for end in ("low", "high")]
            called = ", ".join(
                f"layer {value}" if dim == "layer" else str(value) for dim, value in where.items()
            )
            rows.append(
                {"name": called, "rate": float(rates.sel(where)), "low": ends[0], "high": ends[1]}
            )
    return rows
