"""Answers of studies that know what words have to do with each other."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.dependency import ALL as EVERY_WORD, best_heads as best_parsers
from headlight.findings.estimates import Estimate, around, beside, estimates, many, undecided
from headlight.findings.observed import name_of
from headlight.findings.speech import are_of_speech, times_known, ways_to_time
from headlight.findings.what_was_read import independent_units
from headlight.findings.wording import interval, percent, seconds

RARE = 100
"""Relations of fewer words, or of a twentieth of a small treebank, are not counted."""


def dependency(result: xr.Dataset) -> list[str]:
    """The best head beside the best fixed offset, and how many relations have a better head."""
    fewest = min(RARE, int(result["count"].sel(relation=EVERY_WORD)) // 20)
    found = best_parsers(result, min_count=fewest)
    every = found[found["relation"] == EVERY_WORD].sort_values("accuracy", ascending=False)
    best = every.to_dict("records")[0]
    offset = _offset(result, EVERY_WORD, best["offset"])
    called = f"the {percent(best['baseline'])}{around(offset)} of the best fixed offset"
    beyond = beside(
        estimate_of_row(best), offset, called, _gain(result, best, result.sizes["measure"])
    )
    said = [
        f"{head_of_row(result, best)} finds the governor of {percent(best['accuracy'])} of words"
        f"{interval(best['low'], best['high'])}, {beyond}."
        + undecided_heads(result.sel(relation=EVERY_WORD))
    ]
    relations = found[(found["measure"] == best["measure"]) & (found["relation"] != EVERY_WORD)]
    if len(relations):
        rows = relations.to_dict("records")
        verdicts = np.array([_gain(result, row).against(0.0) for row in rows])
        said.append(
            f"Of {len(rows)} relations, {many(verdicts)} have a head that is better than the best "
            f"offset ({_counted_in(result)})."
        )
    return said


def _offset(result: xr.Dataset, relation: str, offset: int) -> Estimate:
    """How often a fixed offset is right; without an interval in results of earlier versions."""
    return estimates(result, "offset_accuracy", (), relation=relation, offset=offset)


def estimate_of_row(
    row: Mapping[Hashable, Any], name: str = "accuracy", ends: str = ""
) -> Estimate:
    """Return the number of a row of a table, with its interval."""
    names = (name, f"{ends}low", f"{ends}high")
    return Estimate.with_ends(*(np.asarray(row[each], dtype=np.float64) for each in names))


def _gain(result: xr.Dataset, row: Mapping[Hashable, Any], measures: int = 1) -> Estimate:
    """What a head finds beyond the best offset; it was chosen among all."""
    gain = estimate_of_row(row, "gain", "gain_")
    return gain.chosen(measures * candidate_heads(result), independent_units(result))


def candidate_heads(result: xr.Dataset) -> int:
    """Return among how many heads and directions the best was chosen."""
    return int(np.prod([result.sizes[dim] for dim in ("layer", "head", "direction")]))


def _counted_in(result: xr.Dataset) -> str:
    return f"counting in that each was chosen of {candidate_heads(result):,} on these very words"


def head_of_row(result: xr.Dataset, row: Mapping[Hashable, Any]) -> str:
    """Return the name of a head, and the measure that it is judged by."""
    return f"{name_of(result, row['layer'], row['head'])} by {row['measure']}"


def undecided_heads(found: xr.Dataset) -> str:
    """Return a sentence where other heads, by any measure, may find most as well, or nothing."""
    cells = found[["accuracy", "low", "high"]].stack(head_by=("measure", "layer", "head"))
    first = cells["accuracy"].fillna(-1).argmax("direction")  # the better direction of each
    best = cells.isel(direction=first)
    names = [head_of_row(found, {"measure": measure, "layer": int(layer), "head": int(head)})
             for measure, layer, head in best["head_by"].values]  # fmt: skip
    numbers = Estimate.with_ends(*(best[each].values for each in ("accuracy", "low", "high")))
    return undecided(numbers, names, "which head finds most")


def undecided_rows(
    rows: Sequence[Mapping[Hashable, Any]],
    name: str,
    called: Sequence[str],
    which: str,
    noun: str = "probe",
    *,
    sign: float = 1.0,
    ends: tuple[str, str] = ("low", "high"),
) -> str:
    """Return a sentence where the first row of a table may not be the first, or nothing."""
    columns = ([row.get(each, np.nan) for row in rows] for each in (name, *ends))
    numbers = Estimate.with_ends(*(np.asarray(each, dtype=np.float64) for each in columns))
    return undecided(numbers.times(sign), called, which, noun)


def alignment(result: xr.Dataset) -> list[str]:
    """What has the lowest error rate, and what comes next."""
    if are_of_speech(result):
        return _times(result)
    found = pd.DataFrame([*_rates(result)]).sort_values("rate", kind="stable").to_dict("records")
    if not found:
        return ["No link could be judged."]
    best = found[0]
    names = [str(row["name"]) for row in found]
    listed = [" (".join(name.split(", ", 1)) + ")" * (", " in name) for name in names]
    said = (
        f"Words are linked best by {best['name']}: its alignment error rate is "
        f"{percent(best['rate'])}{interval(best['low'], best['high'])}, with the layer chosen on "
        "these very gold links"
    )
    if len(found) > 1:
        other = found[1]
        said += f"; next comes {names[1]} with {percent(other['rate'])}"
        said += interval(other["low"], other["high"])
    return [
        f"{said}.{undecided_rows(found, 'rate', listed, 'what links words best', 'way', sign=-1.0)}"
    ]


def _times(result: xr.Dataset) -> list[str]:
    """Which way finds when words are said, beside the heads that were chosen before."""
    found = ways_to_time(result).to_dict("records")
    if not times_known(result):
        best, names = found[0], [f"{row['way']} by {row['measure']}" for row in found]
        ends = ("on_path_low", "on_path_high")
        return [
            f"Of what words give to sound, {names[0]} gives most to one path through it, "
            f"{percent(best['on_path'])}{interval(*(best[end] for end in ends))}; no times of "
            "words are known, so that it cannot be said how far this is from them."
            + undecided_rows(
                found, "on_path", names, "what gives most to one path", "way", ends=ends
            )
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
    said[-1] += undecided_rows(
        found,
        "start_error",
        [f"the {row['way']} by {row['measure']} ({row['step']})" for row in found],
        "which way has the smallest error",
        "way",
        sign=-1.0,
        ends=("start_error_low", "start_error_high"),
    )
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
