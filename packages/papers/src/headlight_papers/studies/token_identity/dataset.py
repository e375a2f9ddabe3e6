"""Dataset of rates at which tokens are identified."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from headlight.result import Description, describe
from headlight_papers.intervals import student
from headlight_papers.studies.token_identity import TokenIdentitySettings
from headlight_papers.studies.token_identity.outcomes import Outcome

_RATES = {
    "rate": "share of test tokens identified",
    "train_rate": "share of training tokens identified",
    "rate_across": "share of test tokens of another layer identified",
}
VARIABLES: dict[str, Description] = {
    **{name: (text, "1") for name, text in _RATES.items()},
    **{f"{name}_mean": (f"{text}, mean over folds", "1", "share") for name, text in _RATES.items()},
    **{f"{name}_standard_error": (f"{text}, standard error", "1") for name, text in _RATES.items()},
    **{
        f"{name}_mean_{end}": (f"{text}, {which} end of the 95% interval over folds", "1", "share")
        for name, text in _RATES.items()
        for end, which in (("low", "lower"), ("high", "upper"))
    },
    "validation_loss": ("mean loss on the validation tokens", ""),
    "parameter": ("learning rate, or λ of ridge regression", "1"),
    "best_epoch": ("epoch whose weights were kept", "1"),
    "epochs": ("epochs trained", "1"),
}
DIMENSIONS = ("map", "loss", "offset", "fraction", "layer", "fold")


def identity_dataset(
    outcomes: Sequence[Outcome], layers: Sequence[int], settings: TokenIdentitySettings
) -> xarray.Dataset:
    """Return identifiability rates, and facts about the training of the maps, as named arrays."""
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
    return describe(_over_folds(result), VARIABLES)


def _over_folds(result: xarray.Dataset) -> xarray.Dataset:
    """Return means over folds, standard errors and intervals, as if folds were independent."""
    folds = result.sizes["fold"]
    for name in ("rate", "train_rate", "rate_across"):
        if name in result:
            result[f"{name}_mean"] = result[name].mean("fold")
            spread = result[name].std("fold", ddof=1) if folds > 1 else result[name].mean("fold")
            error = spread / folds**0.5 if folds > 1 else spread * np.nan
            result[f"{name}_standard_error"] = error
            mean = result[f"{name}_mean"]
            ends = student(mean.values, error.values, np.full(mean.shape, folds - 1.0), least=1)
            for end, values in zip(("low", "high"), ends, strict=True):
                result[f"{name}_mean_{end}"] = mean.dims, values
    return result


def _place(outcome: Outcome, coordinates: Mapping[str, list[Any]]) -> tuple[int, ...]:
    case = outcome.case
    here = (case.map, case.loss, case.offset, case.fraction, case.layers[0], case.fold)
    return tuple(
        coordinates[name].index(value) for name, value in zip(DIMENSIONS, here, strict=True)
    )


def _solver(name: str, settings: TokenIdentitySettings) -> str:
    if name == "naive":
        return "none"
    return settings.solver if name == "linear" else "adam"
