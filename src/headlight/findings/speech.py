"""Which ways to link words to time find them best."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings.observed import name_of

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
    most to its own path.
    """
    rows = list(_rows(result))
    by, ascending = ("start_error", True) if times_known(result) else ("on_path", False)
    return pd.DataFrame(rows).sort_values(by, ascending=ascending, kind="stable")


def _rows(result: xr.Dataset) -> Iterator[dict[str, object]]:
    judged = "start_error" if times_known(result) else "on_path"
    for prefix, called in PREFIXES.items():
        if f"{prefix}{judged}" not in result:
            continue
        for measure in map(str, result["measure"].values):
            for step in map(str, result["step"].values):
                cell = result.sel(measure=measure, step=step)
                values = cell[f"{prefix}{judged}"]
                sign = 1 if times_known(result) else -1
                place = np.nanargmin(sign * values.values)
                where = dict(zip(values.dims, np.unravel_index(place, values.shape), strict=True))
                best = cell.isel({name: int(at) for name, at in where.items()})
                name = called
                if where:
                    head = [int(best["head"])] if "head" in where else []
                    place_name = name_of(result, int(best["layer"]), *head)
                    name = f"best {place_name}" if prefix == "" else f"{called} {place_name}"
                numbers = {
                    f"{number}{bound}": float(best[f"{prefix}{number}{bound}"])
                    for number in NUMBERS
                    for bound in ("", "_low", "_high")
                    if f"{prefix}{number}{bound}" in best
                }
                yield {"way": name, "measure": measure, "step": step, **numbers}
