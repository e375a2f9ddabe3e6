"""Times of spoken words: tables, and sentences on the errors with which they are found."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.estimates import ENDS, Estimate, estimates
from headlight.findings.interval_phrases import interval, undecided
from headlight.findings.phrases import listed, name_of, percent, seconds
from headlight.result.estimate import with_ends

NUMBERS = ("start_error", "end_error", "inside", "on_path")
LISTED = "alignment_heads"
"""Name in generation configs of the heads of cross-attention by which words are timed."""
WITHIN, MOST_LISTED = 2.0, 10
"""Largest ratio to the best head's error, and number, of the heads that are listed."""
PREFIXES = {"chosen_": "chosen heads", "": "best layer", "head_": "best head"}
"""Labels of the combined heads, by the prefix of their variables."""


def are_of_speech(result: xr.Dataset) -> bool:
    """Whether a result of alignment is of recordings."""
    return "on_path" in result


def times_known(result: xr.Dataset) -> bool:
    """Whether times of words were given, so that errors are known."""
    return "start_error" in result


def ways_to_time(result: xr.Dataset) -> pd.DataFrame:
    """Return chosen heads, best layer and best head of each measure and step, the best first.

    The best has the smallest error of beginnings, in seconds; where no times are known, it gives
    most to its own path.  `cross_fit` is that number without the luck of having been chosen.
    """
    return pd.DataFrame([row for row, _ in judged_ways(result)])


def judged_ways(result: xr.Dataset) -> list[tuple[dict[str, Any], Estimate]]:
    """Return the rows of `ways_to_time`, each with the number that it is judged by."""
    sign = 1 if times_known(result) else -1
    return sorted(_rows(result), key=lambda way: sign * float(way[1].value))


def _rows(result: xr.Dataset) -> Iterator[tuple[dict[str, Any], Estimate]]:
    sign = 1 if times_known(result) else -1
    judged = "start_error" if times_known(result) else "on_path"
    for prefix, called in PREFIXES.items():
        if f"{prefix}{judged}" not in result:
            continue
        for name in NUMBERS:
            result = with_ends(result, f"{prefix}{name}")
        for measure in map(str, result["measure"].values):
            for step in map(str, result["step"].values):
                cell = result.sel(measure=measure, step=step)
                dims = tuple(map(str, cell[f"{prefix}{judged}"].dims))
                candidates = estimates(cell, f"{prefix}{judged}", dims)
                lowest = candidates.times(-sign)
                places = lowest.first() or (0,) * len(dims)
                where = dict(zip(dims, places, strict=True))
                best = cell.isel(where)
                name = called
                if where:
                    head = [int(best["head"])] if "head" in where else []
                    place_name = name_of(result, int(best["layer"]), *head)
                    name = f"best {place_name}" if prefix == "" else f"{called} {place_name}"
                numbers = {
                    f"{number}{bound}": float(best[f"{prefix}{number}{bound}"])
                    for number in NUMBERS
                    for bound in ENDS
                    if f"{prefix}{number}{bound}" in best
                }
                fitted = -sign * float(lowest.largest().value) if where else np.nan
                row = {"way": name, "measure": measure, "step": step, **numbers}
                yield row | {"cross_fit": fitted}, candidates.at(places)


def alignment_heads(result: xr.Dataset) -> list[list[int]]:
    """Return layer and head of the heads to list, by place; none where no times are known.

    Those are taken whose mean error of beginnings, alone, by the row that predicts a piece, is not
    shown to be more than `WITHIN` times that of the best head (the lower end of its 95% interval is
    not above that), and of these at most `MOST_LISTED`, the best first.
    """
    if "head_start_error" not in result:
        return []
    measure = "weight" if "weight" in result["measure"] else str(result["measure"].values[0])
    numbers = with_ends(result, "head_start_error").sel(measure=measure, step="output")
    errors = numbers["head_start_error"].values
    low = np.fmin(numbers["head_start_error_low"].values, errors)  # without an interval: the error
    near = np.argwhere(low <= WITHIN * np.nanmin(errors)).tolist()
    best = sorted(near, key=lambda place: float(errors[tuple(place)]))[:MOST_LISTED]
    return sorted([int(result["layer"].values[layer]), head] for layer, head in best)


def _listed(result: xr.Dataset) -> list[str]:
    """Return which heads to list, as they are written into a generation config."""
    heads = alignment_heads(result)
    names = listed([name_of(result, *place) for place in heads])
    return [f"By these times, words are timed by {names}: “{LISTED}”: {heads}."] if heads else []


def word_times(result: xr.Dataset) -> list[str]:
    """Return findings on the errors of word times, beside the heads chosen before."""
    rows, numbers = zip(*judged_ways(result), strict=True)
    judged = Estimate.joined(numbers)
    if not times_known(result):
        best, names = rows[0], [f"{row['way']} by {row['measure']}" for row in rows]
        return [
            f"Of what words give to sound, {names[0]} gives most to one path through it, "
            f"{percent(best['on_path'])}{_ends(best, 'on_path', percent)}; no times of words are "
            "known, so that it cannot be said how far this is from them."
            + undecided(judged, names, "what gives most to one path", "way")
        ]
    others = [row for row in rows if row["way"] != "chosen heads"]
    chosen = [row for row in rows if row["way"] == "chosen heads"]
    sentences = [
        f"{_way(row)} {'find' if row['way'] == 'chosen heads' else 'finds'} the beginnings of "
        "words with a mean error of "
        f"{seconds(row['start_error'])}{_ends(row, 'start_error', seconds)}."
        for row in (*chosen[:1], others[0])
    ]
    if chosen:
        sentences[1] = (
            f"{sentences[1][:-1]}; it was chosen by these very times, and the others were not."
        )
    names = [f"the {row['way']} by {row['measure']} ({row['step']})" for row in rows]
    sentences[-1] += undecided(judged.times(-1.0), names, "which way has the smallest error", "way")
    return sentences + _listed(result)


def _ends(row: Mapping[str, Any], name: str, written: Callable[[float], str]) -> str:
    """Return the interval of the number of a row in brackets, with its value by cross-fit."""
    brackets = interval(row[f"{name}_low"], row[f"{name}_high"], written)
    if not brackets or np.isnan(row["cross_fit"]):
        return brackets
    return f"{brackets[:-1]}; {written(row['cross_fit'])} by cross-fit)"


def _way(row: Mapping[Hashable, Any]) -> str:
    name = f"The {row['way']} by {row['measure']}"
    return f"{name}, where the word is {'read' if row['step'] == 'input' else 'predicted'},"
