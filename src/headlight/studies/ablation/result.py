"""The result of a study that takes heads out of a model."""

from collections.abc import Sequence
from typing import Any

import xarray

from headlight.analysis.places import Place, by_scope
from headlight.capture import AttentionSite
from headlight.reduce import Tally
from headlight.result import describe
from headlight.studies.ablation.observer import CHANGES, OWN

_MEANINGS = {
    "kl": ("KL divergence of the predictions without it from those of the model as it is", "nat"),
    "changed": ("share of the predictions that become others", "1"),
    "loss": ("change of the loss of a predicted token or class without it", "nat"),
    "accuracy": ("change of the share of right predictions without it", "1"),
    "norm": ("length of what it adds to a token, ‖Σ_j α_ij f(x_j)‖, mean over tokens", ""),
}
_NAMES = {"loss": "loss_change", "accuracy": "accuracy_change"}
"""Of variables that are differences."""
_WHERE = {"layer_": "all heads of a layer", "head_": "one head"}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip
_OWN_MEANINGS = {"loss": ("loss of a predicted token or class, of the model as it is", "nat"),
                 "accuracy": ("share of right predictions of the model as it is", "1")}  # fmt: skip

VARIABLES = {
    f"{where}{_NAMES.get(name, name)}{bound}": (f"{said}{meaning}; {_WHERE[where]}", unit)
    for where in _WHERE
    for name, (meaning, unit) in _MEANINGS.items()
    for bound, said in _BOUNDS.items()
} | {
    f"own_{name}{bound}": (f"{said}{meaning}", unit)
    for name, (meaning, unit) in _OWN_MEANINGS.items()
    for bound, said in _BOUNDS.items()
} | {"predicted": ("predictions with a label", "1")}  # fmt: skip
"""Long name and unit of every variable."""


def dataset(
    tally: Tally, places: Sequence[Place], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        places: what was removed at once.
        sites: the layers.
    """
    found = tally.compute()
    variables: dict[str, Any] = {"predicted": ((), found["predicted"]["total"])}
    for bound, statistic in {"": "mean", "_low": "low", "_high": "high"}.items():
        for at, name in enumerate(OWN):
            variables[f"own_{name}{bound}"] = ((), found["own"][statistic][at])
        for name, values in zip(CHANGES, found["changes"][statistic], strict=True):
            for prefix, (axes, cells) in by_scope(values, places, sites).items():
                variables[f"{prefix}{_NAMES.get(name, name)}{bound}"] = (axes, cells)
    coordinates = {"layer": [site.layer for site in sites]}
    if "head_kl" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    made = xarray.Dataset(variables, coords=coordinates)
    return describe(made, {name: VARIABLES[name] for name in variables})
