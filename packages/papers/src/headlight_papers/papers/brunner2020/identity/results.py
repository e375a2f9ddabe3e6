"""The results that the exhibits on token identity share, each made once."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import xarray

from headlight import Model
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.brunner2020.settings import Settings
from headlight_papers.papers.folder import RUNS
from headlight_papers.papers.reproduction import Reproduction, states_of
from headlight_papers.papers.text import model_note

EPOCHS = {"naive": 1, "linear": 50, "mlp": 25}
"""Passes over the training tokens at most, by kind of map; the paper names no limit."""

RIDGE = "ridge"

OFFSETS = (-3, -2, -1, 1, 2, 3)

MAP_TITLES = {"naive": "naive", "linear": "linear", "mlp": "MLP"}
LOSS_TITLES = {"cosine": "cosine", "l2": "L2"}


def load_same_layer(
    reproduction: Reproduction[Settings], pairs: PairSet, kind: str
) -> xarray.Dataset:
    """Maps of a kind, trained and tested on the same layer; the learning rate is searched.

    Those of the first set are tested on all other layers as well, so that none has to be trained
    once more for `load_across_layers`, which finds what is known of each map in their folder.
    """
    chosen = reproduction.settings
    folds = min(chosen.folds, chosen.mlp_folds) if kind == "mlp" else chosen.folds
    across = kind != "naive" and pairs == find_pair_set(reproduction)
    return _load(reproduction, pairs, f"same-{kind}", kind, folds=folds, across=across)


def load_ridge(reproduction: Reproduction[Settings], pairs: PairSet) -> xarray.Dataset:
    """Linear maps of the same layer by ridge regression, whatever the solver is."""
    folds = reproduction.settings.folds
    return _load(reproduction, pairs, "same-ridge", "linear", folds=folds, solver=RIDGE)


def load_across_layers(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> xarray.Dataset:
    """Maps of a kind, trained on each layer and tested on all."""
    training = best_training(reproduction, pairs, kind, loss)
    title = f"across-{kind}-{loss}"
    return _load(reproduction, pairs, title, kind, losses=(loss,), across=True, training=training)


def load_single_layers(reproduction: Reproduction, pairs: PairSet, kind: str) -> xarray.Dataset:
    """Maps of a kind from each layer to the one below."""
    found = []
    for loss in LOSS_TITLES:
        training = best_training(reproduction, pairs, kind, loss)
        title = f"single-{kind}-{loss}"
        found.append(
            _load(
                reproduction,
                pairs,
                title,
                kind,
                losses=(loss,),
                target="previous_layer",
                training=training,
            )
        )
    return xarray.concat(found, dim="loss", combine_attrs="override")


def load_single_layers_of_second(reproduction: Reproduction, pairs: PairSet) -> xarray.Dataset:
    """The naive maps from each layer to the one below, in the second model."""
    second = reproduction.compared
    assert second is not None  # noqa: S101 - the exhibit needs it
    return _load(
        reproduction, pairs, "single-compared", "naive", model=second, target="previous_layer"
    )


def load_neighbours(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> xarray.Dataset:
    """Maps of a kind to the input tokens up to three positions before and behind."""
    training = best_training(reproduction, pairs, kind, loss)
    title = f"neighbours-{kind}-{loss}"
    return _load(
        reproduction, pairs, title, kind, losses=(loss,), offsets=OFFSETS, training=training
    )


def load_by_fraction(reproduction: Reproduction, pairs: PairSet) -> xarray.Dataset:
    """MLPs of the layer that stands where the paper's layer 11 does, on less and less data."""
    training = best_training(reproduction, pairs, "mlp", "l2")
    layers = load_same_layer(reproduction, pairs, "mlp")["layer"].values
    depth = published.FRACTIONS_LAYER / published.LAYERS
    return _load(
        reproduction,
        pairs,
        "fractions",
        "mlp",
        losses=("l2",),
        layers=(int(layers[round(depth * (len(layers) - 1))]),),
        fractions=tuple(published.FRACTIONS),
        training=training,
    )


def best_training(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> dict[str, Any]:
    """Return the settings of training, with the best learning rate for maps of the same layer."""
    training = {"epochs": EPOCHS[kind], "precision": "medium"}
    if kind == "naive":
        return training
    found = load_same_layer(reproduction, pairs, kind)
    if str(found["solver"].sel(map=kind).item()) != "adam":
        return training
    rates = found["parameter"].sel(map=kind, loss=loss).values
    return training | {"rates": (float(np.nanmedian(rates)),)}


def _load(
    reproduction: Reproduction[Settings],
    pairs: PairSet,
    title: str,
    kind: str,
    *,
    model: Model | None = None,
    **choices: Any,
) -> xarray.Dataset:
    """A study of one kind of map, in a folder where all of them share the hidden tokens."""
    model = model or reproduction.model
    if pairs.task == "mnli":  # as few as in the paper, where that is fewer
        pairs = replace(pairs, limit=min(pairs.limit, published.MNLI_IDENTITY_EXAMPLES))
    defaults: dict[str, Any] = {
        "maps": (kind,),
        "solver": reproduction.settings.solver,
        "folds": 1,
        "training": {"epochs": EPOCHS[kind], "precision": "medium"},
    }
    # Hidden tokens of another model, or of other pairs, are kept beside these.
    of = json.dumps([model.identity(), states_of(pairs.reads)])
    mark = sha256(of.encode()).hexdigest()[:8]
    return reproduction.run(
        "token_identity",
        pairs.pairs,
        max_length=pairs.length,
        reads=pairs.reads,
        name=f"identity-{title}-{pairs.name}",
        model=model,
        objects={"cache": reproduction.folder / RUNS / f"identity-{pairs.name}-{mark}"},
        rate_search="shared",
        seed=reproduction.settings.seed,
        **(defaults | choices),
    )


def identity_notes(
    reproduction: Reproduction, pairs: PairSet, *results: xarray.Dataset
) -> list[str]:
    """Return notes on how model, data and training differ from the paper's."""
    attributes = results[0].attrs
    read = pairs.note(int(attributes["examples"]), int(attributes["tokens"]))
    return [model_note(reproduction), read, *map(_training_note, results)]


def _training_note(found: xarray.Dataset) -> str:
    """Return the note on how the maps of a result were trained."""
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
    training = json.loads(found.attrs["settings"])["training"]
    rates = ", ".join(
        f"{float(found['parameter'].sel(loss=loss).median()):g} for {LOSS_TITLES[str(loss)]}"
        for loss in found["loss"].values
    )
    stopped = float((found["epochs"] < training["epochs"]).mean())
    limit = training["epochs"]
    return (
        f"{title} were trained on {splits}, at most {limit} epochs ({100 * stopped:.0f}% "
        f"stopped earlier), with the learning rate {rates}: found once for each kind of map and "
        "loss, among the seven of the paper, for input tokens of the last layer on the first "
        "split. Products of matrices may be rounded to "
        "bfloat16 in training."
    )
