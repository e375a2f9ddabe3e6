"""The results that the exhibits on token identity share, each made once."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel
from headlight.papers.brunner2020.datasets import (
    main_set,
    pair_examples,
    pair_length,
    pair_note,
    pair_source,
)
from headlight.papers.brunner2020.published import MNLI_IDENTITY_EXAMPLES
from headlight.papers.brunner2020.published_identity import FRACTIONS, FRACTIONS_LAYER, LAYERS
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import model_note
from headlight.studies.token_identity.settings import (
    MapTrainingSettings,
    TokenIdentitySettings,
)
from headlight.studies.token_identity.study import run as run_token_identity

EPOCHS = {"naive": 1, "linear": 50, "mlp": 25}
"""Passes over the training tokens at most, by kind of map; the paper names no limit."""

RIDGE = "ridge"

OFFSETS = (-3, -2, -1, 1, 2, 3)

MAP_TITLES = {"naive": "naive", "linear": "linear", "mlp": "MLP"}
LOSS_TITLES = {"cosine": "cosine", "l2": "L2"}


def same_layer(study: Study, name: str, kind: str) -> xarray.Dataset:
    """Maps of a kind, trained and tested on the same layer; the learning rate is searched."""
    options = study.options
    folds = min(options.folds, options.mlp_folds) if kind == "mlp" else options.folds
    return _made(study, name, f"same-{kind}", kind, folds=folds)


def in_closed_form(study: Study, name: str) -> xarray.Dataset:
    """Linear maps of the same layer by ridge regression, whatever the solver is."""
    return _made(study, name, "same-ridge", "linear", folds=study.options.folds, solver=RIDGE)


def across_layers(study: Study, kind: str, loss: str) -> xarray.Dataset:
    """Maps of a kind, trained on each layer and tested on all."""
    name, rates = main_set(study), searched(study, kind, loss)
    return _made(
        study, name, f"across-{kind}-{loss}", kind, losses=(loss,), across=True, rates=rates
    )


def single_layers(study: Study, name: str, kind: str) -> xarray.Dataset:
    """Maps of a kind from each layer to the one below."""
    found = []
    for loss in LOSS_TITLES:
        rates = None if kind == "naive" else searched(study, kind, loss)
        title = f"single-{kind}-{loss}"
        found.append(
            _made(study, name, title, kind, losses=(loss,), target="previous_layer", rates=rates)
        )
    return xarray.concat(found, dim="loss", combine_attrs="override")


def single_layers_compared(study: Study, name: str) -> xarray.Dataset:
    """The naive maps from each layer to the one below, in the second model."""
    if study.compared is None:
        raise ValueError("the plan of this exhibit asks for a second model")
    return _made(
        study, name, "single-compared", "naive", model=study.compared, target="previous_layer"
    )


def neighbours(study: Study, kind: str, loss: str) -> xarray.Dataset:
    """Maps of a kind to the input tokens up to three positions before and behind."""
    name, rates = main_set(study), searched(study, kind, loss)
    return _made(
        study, name, f"neighbours-{kind}-{loss}", kind, losses=(loss,), offsets=OFFSETS, rates=rates
    )


def by_fraction(study: Study) -> xarray.Dataset:
    """MLPs of the layer that stands where the paper's layer 11 does, on less and less data."""
    rates = searched(study, "mlp", "l2")
    layers = same_layer(study, main_set(study), "mlp")["layer"].values
    layer = int(layers[round(FRACTIONS_LAYER / LAYERS * (len(layers) - 1))])
    return _made(
        study,
        main_set(study),
        "fractions",
        "mlp",
        losses=("l2",),
        layers=(layer,),
        fractions=tuple(FRACTIONS),
        rates=rates,
    )


def searched(study: Study, kind: str, loss: str) -> tuple[float, ...] | None:
    """The learning rate that was best for maps of the same layer; None where none is used."""
    found = same_layer(study, main_set(study), kind)
    if str(found["solver"].sel(map=kind).item()) != "adam":
        return None
    values = found["parameter"].sel(map=kind, loss=loss).values
    return (float(np.nanmedian(values)),)


def _made(
    study: Study,
    name: str,
    title: str,
    kind: str,
    *,
    model: CapturedModel | None = None,
    rates: Sequence[float] | None = None,
    **choices: Any,
) -> xarray.Dataset:
    """A study of one kind of map, in a folder where all of them share the hidden tokens."""
    model = model or study.model
    settings = _settings(study, kind, rates, choices)
    source = file_state(pair_source(study, name))
    about = {"pairs": source, "maps": settings.signature(), "of": [model.name, model.revision]}
    # Hidden tokens of another model, or of other pairs, are kept beside these.
    extent = [_limit(study, name), pair_length(study)]
    mark = sha256(json.dumps([*about["of"], source, extent]).encode()).hexdigest()[:8]

    def make(run: Path) -> xarray.Dataset:
        return run_token_identity(
            pair_examples(study, name, limit=_limit(study, name)),
            model,
            settings,
            cache=run.parent / f"identity-{name}-{mark}",
            progress=study.progress,
        )

    return study.kept(f"identity-{title}-{name}", "token_identity", make, **about)


def _settings(
    study: Study, kind: str, rates: Sequence[float] | None, choices: dict[str, Any]
) -> TokenIdentitySettings:
    training = MapTrainingSettings(epochs=EPOCHS[kind], precision="medium")
    return TokenIdentitySettings(
        rate_search="shared",
        seed=study.options.seed,
        **{
            "maps": (kind,),
            "solver": study.options.solver,
            "folds": 1,
            "training": training.replace(rates=tuple(rates)) if rates else training,
            **choices,
        },
    )


def _limit(study: Study, name: str) -> int:
    """Pairs of MNLI are as few as in the paper, where that is fewer."""
    limit = study.options.max_pairs
    return min(limit, MNLI_IDENTITY_EXAMPLES) if name.startswith("mnli") else limit


def identity_notes(study: Study, name: str, *results: xarray.Dataset) -> list[str]:
    """Where model, data and training differ from the paper's."""
    first = results[0]
    read = pair_note(study, name, int(first.attrs["examples"]), int(first.attrs["tokens"]))
    notes = [model_note(study), read, *(_trained(result) for result in results)]
    return [note for note in notes if note]


def _trained(found: xarray.Dataset) -> str:
    """How the maps of a result came about."""
    (kind,) = found["map"].values
    folds = found.sizes["fold"]
    splits = f"{folds} random splits" if folds > 1 else "one random split"
    if kind == "naive":
        return f"The naive map was tested on the test sequences of {splits}."
    title = "MLPs" if kind == "mlp" else "Linear maps"
    if str(found["solver"].item(0)) == RIDGE:
        return (
            f"{title} are ridge regressions on {splits} (for cosine distance, to input tokens "
            "divided by their length); λ was chosen on the validation tokens."
        )
    recipe = json.loads(found.attrs["settings"])["recipe"]
    rates = ", ".join(
        f"{float(found['parameter'].sel(loss=loss).median()):g} for {LOSS_TITLES[str(loss)]}"
        for loss in found["loss"].values
    )
    stopped = float((found["epochs"] < recipe["epochs"]).mean())
    limit = recipe["epochs"]
    return (
        f"{title} were trained on {splits}, at most {limit} epochs ({100 * stopped:.0f}% "
        f"stopped earlier), with the learning rate {rates}: found once for each kind of map and "
        "loss, among the seven of the paper, for input tokens of the last layer on the first "
        "split. Products of matrices may be rounded to "
        "bfloat16 in training."
    )
