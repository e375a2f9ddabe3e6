"""The result of a study of what answers lose with important words."""

from typing import Any

import xarray

from headlight.reduce import Tally
from headlight.result import describe
from headlight.studies.faithfulness.metrics import SHARES, STEPS, TOTALS, parts
from headlight.studies.faithfulness.settings import FaithfulnessSettings

_MEANINGS = {
    "comprehensiveness": "p lost without the most important words, mean over shares",
    "sufficiency": "p lost with the most important words alone, mean over shares",
    "deletion": "area under p as the most important words are taken away",
    "insertion": "area under p as the most important words are given",
    "first_flip": "share of answers that change without the most important word",
    "share_to_flip": "share of the words without which the answer changes, 1 if it never does",
    "share_comprehensiveness": "p lost without a share of the words, the most important",
    "share_sufficiency": "p lost with a share of the words alone, the most important",
    "deletion_curve": "p without a share of the words, the most important",
    "insertion_curve": "p with a share of the words alone, the most important",
    "own_accuracy": "share of answers that are right",
}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip

VARIABLES = {
    f"{name}{bound}": (f"{said}{meaning}", "1")
    for name, meaning in _MEANINGS.items()
    for bound, said in _BOUNDS.items()
}
"""Long name and unit of every variable; p is the probability of the class of the whole text."""

_CURVES = {
    "comprehensiveness": ("share_comprehensiveness", "share"),
    "sufficiency": ("share_sufficiency", "share"),
    "deletion": ("deletion_curve", "step"),
    "insertion": ("insertion_curve", "step"),
}


def dataset(tally: Tally, settings: FaithfulnessSettings) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        settings: what was asked.
    """
    found = tally.compute()
    axes = ("measure", "removal")
    variables: dict[str, Any] = {}
    for bound, statistic in {"": "mean", "_low": "low", "_high": "high"}.items():
        numbers = parts(found["metrics"][statistic])
        totals = numbers.pop("totals")
        variables |= {f"{name}{bound}": (axes, totals[..., at]) for at, name in enumerate(TOTALS)}
        for name, values in numbers.items():
            called, over = _CURVES[name]
            variables[f"{called}{bound}"] = ((*axes, over), values)
        variables[f"own_accuracy{bound}"] = ((), found["accuracy"][statistic])
    coordinates = {
        "measure": list(settings.orders),
        "removal": list(settings.removals),
        "share": list(SHARES),
        "step": list(STEPS),
    }
    made = xarray.Dataset(variables, coords=coordinates)
    return describe(made, {name: VARIABLES[name] for name in variables})
