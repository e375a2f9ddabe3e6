"""The result of a study of the most different attention with nearly the same answer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.places import Place, by_scope, name_of
from headlight.capture import AttentionSite
from headlight.reduce import Tally
from headlight.result import describe
from headlight.studies.instance_adversary.observer import QUANTITIES, STATISTICS

_MEANINGS = {
    "jsd": ("divergence of the most different attention with nearly the same answer", "nat"),
    "near": ("share of texts with a divergence of at least 0.6", "1"),
    "moved": ("total variation distance by which the answer moves", "1"),
    "steps": ("steps of the search", "count"),
    "exact_jsd": ("divergence of attention of exactly the same output", "nat"),
    "exact_rows": ("share of rows that have other attention of exactly the same output", "1"),
    "largest_weight": ("mean over rows of the largest weight", "1"),
}
_WHERE = {"": "all layers at once", "layer_": "one layer", "head_": "one head"}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip
BY_ANSWER = ("jsd", "near")
"""What there is by the class of the answer as well."""

VARIABLES = (
    {
        f"{where}{name}{bound}": (f"{said}{meaning}, {place}", unit)
        for where, place in _WHERE.items()
        for name, (meaning, unit) in _MEANINGS.items()
        for bound, said in _BOUNDS.items()
    }
    | {
        f"answer_{where}{name}{bound}": (
            f"{said}{_MEANINGS[name][0]}, {place}, by the class of the answer",
            _MEANINGS[name][1],
        )
        for where, place in _WHERE.items()
        for name in BY_ANSWER
        for bound, said in _BOUNDS.items()
    }
    | {
        "answer_texts": ("texts, by the class of the answer", "count"),
        "exact_moved": ("distance by which all exact alternatives at once move the answer", "1"),
        "points": ("largest weight, divergences, distance and answer of texts, at random", ""),
    }
)
"""Long name and unit of every variable."""


def dataset(
    tally: Tally,
    places: Sequence[Place],
    sites: Sequence[AttentionSite],
    classes: Sequence[str],
) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        places: whose attention was changed at once.
        sites: the layers.
        classes: the names of the classes; none of a tagger.
    """
    found = tally.compute()
    variables: dict[str, Any] = {}
    for bound, statistic in {"": "mean", "_low": "low", "_high": "high"}.items():
        for at, name in enumerate(STATISTICS):
            values = found["found"][statistic][:, at]
            for prefix, (axes, cells) in by_scope(values, places, sites).items():
                variables[f"{prefix}{name}{bound}"] = (axes, cells[0])
                if classes and name in BY_ANSWER:
                    variables[f"answer_{prefix}{name}{bound}"] = (("answer", *axes), cells[1:])
    if classes:
        variables["answer_texts"] = ("answer", found["found"]["count"][1:, 0, 0])
    variables["exact_moved"] = ((), found["exact"]["mean"])
    (points,) = found["points"]["rows"]
    kept = points[np.isfinite(points[:, -1])]
    variables["points"] = (
        ("point", "quantity", "place"),
        kept.reshape(len(kept), len(QUANTITIES), len(places)),
    )
    coordinates: dict[str, list[Any]] = {
        "quantity": list(QUANTITIES),
        "place": [name_of(place) for place in places],
        "layer": [site.layer for site in sites],
    }
    if classes:
        coordinates["answer"] = list(classes)
    if "head_jsd" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    made = xarray.Dataset(variables, coords=coordinates)
    return describe(made, {name: VARIABLES[name] for name in variables})
