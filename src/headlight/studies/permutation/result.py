"""The result of a study of replaced attention."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.places import Place, by_scope, name_of
from headlight.capture import AttentionSite
from headlight.reduce import Tally
from headlight.result import describe
from headlight.studies.permutation.observer import STATISTICS

_MEANINGS = {
    "tvd": "total variation distance between the answers with and without their own attention",
    "agreement": "share of answers that stay the same",
    "accuracy": "share of answers that are right with other attention",
    "largest_weight": "mean over rows of the largest weight",
}
_WHERE = {
    "": "of all layers at once",
    "layer_": "of one layer",
    "head_": "of one head",
}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip

VARIABLES = {
    f"{where}{name}{bound}": (f"{_BOUNDS[bound]}{meaning}, {_WHERE[where]}", "1")
    for where in _WHERE
    for name, meaning in _MEANINGS.items()
    for bound in _BOUNDS
} | {
    "points": ("largest weight and change of texts, at random", "1"),
    **{
        f"own_accuracy{bound}": (f"{said}share of answers that are right", "1")
        for bound, said in _BOUNDS.items()
    },
}
"""Long name and unit of every variable."""

QUANTITIES = ("largest_weight", "tvd")
"""Of a point."""


def dataset(
    tally: Tally, changes: Sequence[str], places: Sequence[Place], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        changes: what attention was replaced by.
        places: whose attention was replaced at once.
        sites: the layers.
    """
    found = tally.compute()
    variables: dict[str, Any] = {}
    bounds = {"": "mean", "_low": "low", "_high": "high"}
    for bound, statistic in bounds.items():
        variables[f"own_accuracy{bound}"] = ((), found["accuracy"][statistic])
        changed, largest = found["changed"][statistic], found["largest"][statistic]
        rows = {name: changed[at] for at, name in enumerate(STATISTICS)}
        rows["largest_weight"] = largest[None]
        for name, values in rows.items():
            of_change = ("change",) if name in STATISTICS else ()
            for prefix, (axes, cells) in by_scope(values, places, sites).items():
                shaped = cells if of_change else cells[0]
                variables[f"{prefix}{name}{bound}"] = ((*of_change, *axes), shaped)
    (points,) = found["points"]["rows"]
    kept = points[np.isfinite(points[:, -1])]
    variables["points"] = (
        ("point", "quantity", "place"),
        kept.reshape(len(kept), len(QUANTITIES), len(places)),
    )
    coordinates: dict[str, list[Any]] = {
        "change": list(changes),
        "quantity": list(QUANTITIES),
        "place": [name_of(place) for place in places],
        "layer": [site.layer for site in sites],
    }
    if "head_tvd" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    made = xarray.Dataset(variables, coords=coordinates)
    return describe(made, {name: VARIABLES[name] for name in variables})
