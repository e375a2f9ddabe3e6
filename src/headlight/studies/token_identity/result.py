"""The result of a study of token identity."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from headlight.result import FORMAT
from headlight.studies.token_identity.outcomes import Outcome
from headlight.studies.token_identity.settings import IdentitySettings

STAGE = "token_identity"
DIMENSIONS = ("map", "loss", "offset", "fraction", "layer", "fold")


def identity_dataset(
    outcomes: Sequence[Outcome],
    layers: Sequence[int],
    settings: IdentitySettings,
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Named arrays of identifiability rates, and of how the maps came about."""
    coordinates: dict[str, list[Any]] = {
        "map": list(settings.maps),
        "loss": list(settings.losses),
        "offset": list(settings.offsets),
        "fraction": list(settings.fractions),
        "layer": list(layers),
        "fold": list(range(settings.folds)),
    }
    shape = tuple(len(coordinates[name]) for name in DIMENSIONS)
    places = [_place(outcome, coordinates) for outcome in outcomes]

    def filled(what: Callable[[Outcome], float]) -> tuple[tuple[str, ...], np.ndarray]:
        values = np.full(shape, np.nan)
        for place, outcome in zip(places, outcomes, strict=True):
            values[place] = what(outcome)
        return DIMENSIONS, values

    result = xarray.Dataset(
        {
            "rate": filled(lambda outcome: outcome.test),
            "train_rate": filled(lambda outcome: outcome.train),
            "validation_loss": filled(lambda outcome: outcome.loss),
            "parameter": filled(lambda outcome: outcome.parameter),
            "best_epoch": filled(lambda outcome: outcome.best),
            "epochs": filled(lambda outcome: outcome.epochs),
        },
        coords={
            **coordinates,
            "solver": ("map", [_solver(name, settings) for name in settings.maps]),
        },
    )
    if settings.across:
        values = np.full((*shape, len(layers)), np.nan)
        for place, outcome in zip(places, outcomes, strict=True):
            values[place] = outcome.across
        result["rate_across"] = ((*DIMENSIONS, "tested_layer"), values)
        result = result.assign_coords(tested_layer=list(layers))
    return _over_folds(result).assign_attrs(
        {**attributes, "settings": json.dumps(settings.signature()), "format": FORMAT,
         "stage": STAGE}
    )  # fmt: skip


def _over_folds(result: xarray.Dataset) -> xarray.Dataset:
    """Means over folds, and their standard errors, as if folds were independent."""
    folds = result.sizes["fold"]
    for name in ("rate", "train_rate", "rate_across"):
        if name in result:
            result[f"{name}_mean"] = result[name].mean("fold")
            spread = result[name].std("fold", ddof=1) if folds > 1 else result[name].mean("fold")
            result[f"{name}_standard_error"] = spread / folds**0.5 if folds > 1 else spread * np.nan
    return result


def _place(outcome: Outcome, coordinates: Mapping[str, list[Any]]) -> tuple[int, ...]:
    case = outcome.case
    here = (case.map, case.loss, case.offset, case.fraction, case.layers[0], case.fold)
    return tuple(
        coordinates[name].index(value) for name, value in zip(DIMENSIONS, here, strict=True)
    )


def _solver(name: str, settings: IdentitySettings) -> str:
    """How maps of this kind are found."""
    if name == "naive":
        return "none"
    return settings.solver if name == "linear" else "adam"
