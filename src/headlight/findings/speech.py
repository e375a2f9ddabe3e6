"""Accuracy of the ways to link words to time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.estimates import ENDS, Estimate, estimates
from headlight.findings.observed import name_of
from headlight.result.estimate import with_ends

NUMBERS = ("start_error", "end_error", "inside", "on_path")
PREFIXES = {"chosen_": "chosen heads", "": "best layer", "head_": "best head"}
"""What is put together, by the prefix of its variables."""


def are_of_speech(result: xr.Dataset) -> bool:
    """Whether a result of alignment is of recordings."""
    return "on_path" in result


def times_known(result: xr.Dataset) -> bool:
    """Whether times of words were given, so that errors are known."""
    return "start_error" in result


def ways_to_time(result: xr.Dataset) -> pd.DataFrame:
    """The chosen heads, the best layer and the best head of each measure and step, the best first.

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
                every = estimates(cell, f"{prefix}{judged}", dims)
                lowest = every.times(-sign)
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
                yield row | {"cross_fit": fitted}, every.at(places)
