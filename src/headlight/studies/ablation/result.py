"""The result of a study that takes heads out of a model."""

from collections.abc import Sequence
from typing import Any

import xarray

from headlight.analysis.classifiers.components import Component, by_scope
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.capture import AttentionSite
from headlight.reduce import Tally
from headlight.studies.ablation.observer import CHANGES, OWN

CALLED = {"loss": "loss_change", "accuracy": "accuracy_change"}
"""Variables that are differences."""

VARIABLES = (
    long_names(
        {
            "kl": Variable(
                "KL divergence of the predictions without it from those of the model as it is",
                "nat",
                interval=True,
            ),
            "changed": Variable("share of the predictions that become others", interval=True),
            "loss_change": Variable(
                "change of the loss of a predicted token or class without it", "nat", interval=True
            ),
            "accuracy_change": Variable(
                "change of the share of right predictions without it", interval=True
            ),
            "norm": Variable(
                "length of what it adds to a token, ‖Σ_j α_ij f(x_j)‖, mean over tokens",
                "",
                interval=True,
            ),
        },
        by={"layer_": "; all heads of a layer", "head_": "; one head"},
    )
    | long_names(
        {
            "loss": Variable(
                "loss of a predicted token or class, of the model as it is", "nat", interval=True
            ),
            "accuracy": Variable("share of right predictions of the model as it is", interval=True),
        },
        by={"own_": ""},
    )
    | {"predicted": ("predictions with a label", "1")}
)


def dataset(
    tally: Tally, components: Sequence[Component], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        components: what was removed at once.
        sites: the layers.
    """
    found = tally.compute()
    variables: dict[str, Any] = {"predicted": ((), found["predicted"]["total"])}
    for bound, statistic in BOUNDS.items():
        for at, name in enumerate(OWN):
            variables[f"own_{name}{bound}"] = ((), found["own"][statistic][at])
        for name, values in zip(CHANGES, found["changes"][statistic], strict=True):
            for prefix, (axes, cells) in by_scope(values, components, sites).items():
                variables[f"{prefix}{CALLED.get(name, name)}{bound}"] = (axes, cells)
    coordinates = {"layer": [site.layer for site in sites]}
    if "head_kl" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    return described(variables, coordinates, VARIABLES)
