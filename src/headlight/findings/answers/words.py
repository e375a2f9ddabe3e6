"""Answers of studies that know what words have to do with each other."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.coreference import ALL as EVERY_MENTION, best_heads as best_resolvers
from headlight.findings.dependency import ALL as EVERY_WORD, best_heads as best_parsers
from headlight.findings.estimates import Estimates, around, beside, estimates, many, undecided
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
    measures = result.sizes["measure"]
    said = [
        f"{_head(result, best)} finds the governor of {percent(best['accuracy'])} of words"
        f"{interval(best['low'], best['high'])}, "
        f"{beside(_of(best), offset, called, _gain(result, best, measures))}."
        + _which(result.sel(relation=EVERY_WORD))
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


def _offset(result: xr.Dataset, relation: str, offset: int) -> Estimates:
    """How often a fixed offset is right; without an interval in results of earlier versions."""
    return estimates(result, "offset_accuracy", (), relation=relation, offset=offset)


def _of(row: Mapping[Hashable, Any], name: str = "accuracy", ends: str = "") -> Estimates:
    """The number of a row of a table, with its interval."""
    names = (name, f"{ends}low", f"{ends}high")
    return Estimates(*(np.asarray(row[each], dtype=np.float64) for each in names))


def _gain(result: xr.Dataset, row: Mapping[Hashable, Any], measures: int = 1) -> Estimates:
    """What a head finds beyond the best offset; it was chosen among all."""
    gain = _of(row, "gain", "gain_")
    return gain.chosen(measures * _candidates(result), independent_units(result))


def _candidates(result: xr.Dataset) -> int:
    """Return among how many heads and directions the best was chosen."""
    return int(np.prod([result.sizes[dim] for dim in ("layer", "head", "direction")]))


def _counted_in(result: xr.Dataset) -> str:
    return f"counting in that each was chosen of {_candidates(result):,} on these very words"


def _head(result: xr.Dataset, row: Mapping[Hashable, Any]) -> str:
    return f"{name_of(result, row['layer'], row['head'])} by {row['measure']}"


def _which(found: xr.Dataset) -> str:
    """A sentence where other heads, by any measure, may find most as well."""
    cells = found[["accuracy", "low", "high"]].stack(head_by=("measure", "layer", "head"))
    first = cells["accuracy"].fillna(-1).argmax("direction")  # the better direction of each
    best = cells.isel(direction=first)
    names = [_head(found, {"measure": measure, "layer": int(layer), "head": int(head)})
             for measure, layer, head in best["head_by"].values]  # fmt: skip
    numbers = Estimates(*(best[each].values for each in ("accuracy", "low", "high")))
    return undecided(numbers, names, "which head finds most")


def coreference(result: xr.Dataset) -> list[str]:
    """The best head beside the best baseline."""
    found = best_resolvers(result)
    best = found[found["mention_kind"] == EVERY_MENTION].sort_values("accuracy", ascending=False)
    every = result.sel(mention_kind=EVERY_MENTION)
    baselines = Estimates(
        *(every[f"baseline_{each}"].values for each in ("accuracy", "low", "high"))
    )
    place = baselines.first()
    if not len(best) or place is None:
        return ["No mention was asked about."]
    row = best.to_dict("records")[0]
    rule = baselines.at(place)
    candidates = result.sizes["measure"] * _candidates(result)
    head = _of(row).chosen(candidates, independent_units(result))
    name, rate = str(result["baseline"].values[place[0]]), percent(float(rule.value))
    return [
        f"{_head(result, row)} finds the antecedent of {percent(row['accuracy'])} of "
        f"{int(row['count']):,} mentions{interval(row['low'], row['high'])}, "
        f"{beside(head, rule, f'the {rate}{around(rule)} of the best baseline ({name})')}."
        + _which(every)
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
        probe = _of(with_it[0], "score").chosen(len(with_it), independent_units(result))
        said += f", {beside(probe, _of(other, 'score'), called)}"
    return [
        f"{said}.{_first(with_it, 'score', list(map(_named, with_it)), 'which probe finds most')}"
    ]


def _first(
    rows: Sequence[Mapping[Hashable, Any]],
    name: str,
    called: Sequence[str],
    which: str,
    noun: str = "probe",
    *,
    sign: float = 1.0,
    ends: tuple[str, str] = ("low", "high"),
) -> str:
    """A sentence where the first row of a table may not be the first."""
    columns = ([row.get(each, np.nan) for row in rows] for each in (name, *ends))
    numbers = Estimates(*(np.asarray(each, dtype=np.float64) for each in columns))
    return undecided(numbers.times(sign), called, which, noun)


def _named(row: Mapping[Hashable, Any]) -> str:
    return " by ".join(filter(None, (row["probe"], row["measure"])))


def _probe(row: Mapping[Hashable, Any]) -> str:
    return (
        f"The probe {_named(row)} finds the governor of {percent(row['score'])} of words"
        f"{interval(row['low'], row['high'])}"
    )


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
    return [f"{said}.{_first(found, 'rate', listed, 'what links words best', 'way', sign=-1.0)}"]


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
            + _first(found, "on_path", names, "what gives most to one path", "way", ends=ends)
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
    said[-1] += _first(
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
