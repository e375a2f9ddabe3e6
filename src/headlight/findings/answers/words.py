"""Answers of studies that know what words have to do with each other."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from headlight.findings.dependency import ALL as EVERY_WORD, best_heads as best_parsers, gains
from headlight.findings.estimates import (
    Estimate,
    around,
    around_first,
    beside,
    estimates,
    many,
    undecided,
)
from headlight.findings.observed import name_of
from headlight.findings.speech import are_of_speech, judged_ways, times_known
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
    words = result.sel(relation=EVERY_WORD)
    offset = estimates(words, "offset_accuracy", (), offset=best["offset"])
    called = f"the {percent(best['baseline'])}{around(offset)} of the best fixed offset"
    axes = ("measure", "layer", "head", "direction")
    heads = estimates(words, "accuracy", axes)
    gain = gains(words, *axes)
    chosen = gain.simultaneous(independent_units(result)).at(gain.first() or (0,) * len(axes))
    beyond = beside(heads, offset, called, chosen)
    said = [
        f"{head_of_row(result, best)} finds the governor of {percent(best['accuracy'])} of words"
        f"{around_first(heads)}, {beyond}.{undecided_heads(words)}"
    ]
    relations = found[(found["measure"] == best["measure"]) & (found["relation"] != EVERY_WORD)]
    if len(relations):
        rows = relations.to_dict("records")
        verdicts = np.array([estimate_of_row(row, "gain", "gain_").against(0.0) for row in rows])
        said.append(
            f"Of {len(rows)} relations, {many(verdicts)} have a head that is better than the best "
            f"offset ({_counted_in(result)})."
        )
    return said


def estimate_of_row(
    row: Mapping[Hashable, Any], name: str = "accuracy", ends: str = ""
) -> Estimate:
    """Return the number of a row of a table, with its interval."""
    names = (name, f"{ends}low", f"{ends}high")
    return Estimate.with_ends(*(np.asarray(row[each], dtype=np.float64) for each in names))


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
    dims = ("measure", "layer", "head")
    numbers = estimates(found, "accuracy", (*dims, "direction"))
    better = np.nan_to_num(numbers.value, nan=-1).argmax(-1)  # direction of each
    best = numbers.at((*np.indices(better.shape), better))
    names = [head_of_row(found, dict(zip(dims, place, strict=True)))
             for place in product(*(found[dim].values.tolist() for dim in dims))]  # fmt: skip
    return undecided(best, names, "which head finds most")


def alignment(result: xr.Dataset) -> list[str]:
    """Return findings on the lowest error rate, and on the next."""
    if are_of_speech(result):
        return _times(result)
    ways = sorted(_ways(result), key=lambda way: way.lowest)
    if not ways:
        return ["No link could be judged."]
    names = [way.name for way in ways]
    listed = [" (".join(name.split(", ", 1)) + ")" * (", " in name) for name in names]
    every = Estimate.joined([way.rates for way in ways])
    said = (
        f"Words are linked best by {names[0]}: its alignment error rate is "
        f"{percent(ways[0].lowest)}{around_first(every, lowest=True)}, with the layer chosen on "
        "these very gold links"
    )
    if len(ways) > 1:
        said += f"; next comes {names[1]} with {percent(ways[1].lowest)}{around(ways[1].best)}"
    lowest = Estimate.joined([way.best for way in ways]).times(-1.0)
    return [f"{said}.{undecided(lowest, listed, 'what links words best', 'way')}"]


def _times(result: xr.Dataset) -> list[str]:
    """Return findings on how well times of words are found, beside the heads chosen before."""
    found, numbers = zip(*judged_ways(result), strict=True)
    judged = Estimate.joined(numbers)
    if not times_known(result):
        best, names = found[0], [f"{row['way']} by {row['measure']}" for row in found]
        return [
            f"Of what words give to sound, {names[0]} gives most to one path through it, "
            f"{percent(best['on_path'])}{_ends(best, 'on_path', percent)}; no times of words are "
            "known, so that it cannot be said how far this is from them."
            + undecided(judged, names, "what gives most to one path", "way")
        ]
    others = [row for row in found if row["way"] != "chosen heads"]
    chosen = [row for row in found if row["way"] == "chosen heads"]
    said = [
        f"{_way(row)} {'find' if row['way'] == 'chosen heads' else 'finds'} the beginnings of "
        "words with a mean error of "
        f"{seconds(row['start_error'])}{_ends(row, 'start_error', seconds)}."
        for row in (*chosen[:1], others[0])
    ]
    if chosen:
        said[1] = f"{said[1][:-1]}; it was chosen by these very times, and the others were not."
    names = [f"the {row['way']} by {row['measure']} ({row['step']})" for row in found]
    said[-1] += undecided(judged.times(-1.0), names, "which way has the smallest error", "way")
    return said


def _ends(row: Mapping[str, Any], name: str, written: Callable[[float], str]) -> str:
    """Return the interval of the number of a row in brackets, with its value by cross-fit."""
    brackets = interval(row[f"{name}_low"], row[f"{name}_high"], written)
    if not brackets or np.isnan(row["cross_fit"]):
        return brackets
    return f"{brackets[:-1]}; {written(row['cross_fit'])} by cross-fit)"


def _way(row: Mapping[Hashable, Any]) -> str:
    name = f"The {row['way']} by {row['measure']}"
    return f"{name}, where the word is {'read' if row['step'] == 'input' else 'predicted'},"


class _Way(NamedTuple):
    """The error rates of a way to link words: of all layers, or one number."""

    name: str
    rates: Estimate
    best: Estimate

    @property
    def lowest(self) -> float:
        """The error rate of the best layer."""
        return float(self.best.value)


def _ways(result: xr.Dataset) -> Iterator[_Way]:
    """The best layer of each measure and step, or extraction, and measures of the input."""
    for prefix in ("", "similarity_", "input_"):
        name = f"{prefix}error_rate"
        if name not in result:
            continue
        labels = [str(dim) for dim in result[name].dims if dim != "layer"]
        layers = [str(dim) for dim in result[name].dims if dim == "layer"]
        numbers = estimates(result, name, (*labels, *layers))
        for place in np.ndindex(*numbers.value.shape[: len(labels)]):
            rates = numbers.at(place)
            first = rates.times(-1.0).first()
            if first is None:
                continue
            names = [str(result[dim].values[at]) for dim, at in zip(labels, place, strict=True)]
            if layers:
                names.append(f"layer {int(result['layer'].values[first[0]])}")
            yield _Way(", ".join(names), rates, rates.at(first))
