"""Maps that identify tokens: how they are trained, and their results."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import xarray

from headlight import Model
from headlight.views.parts import Section
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.reproduction import Reproduction, states_of
from headlight_papers.papers.settings import RUNS

EPOCHS = {"naive": 1, "linear": 50, "mlp": 25}
"""Passes over the training tokens at most, by kind of map; the paper names no limit."""

RIDGE = "ridge"

OFFSETS = (-3, -2, -1, 1, 2, 3)

MAP_TITLES = {"naive": "naive", "linear": "linear", "mlp": "MLP"}
LOSS_TITLES = {"cosine": "cosine", "l2": "L2"}


def load_same_layer(
    reproduction: Reproduction[Settings], pairs: PairSet, kind: str
) -> xarray.Dataset:
    """Load maps of a kind, trained and tested on the same layer, after a search of learning rates.

    Those of the first set are tested on all other layers as well, so that none has to be trained
    once more for `load_across_layers`, which finds what is known of each map in their folder.
    """
    chosen = reproduction.settings
    folds = min(chosen.folds, chosen.mlp_folds) if kind == "mlp" else chosen.folds
    # Testing across layers costs little beside training, and saves training again.
    across = kind != "naive" and pairs == find_pair_set(reproduction)
    return load_maps(reproduction, pairs, f"same-{kind}", kind, folds=folds, across=across)


def load_best(
    reproduction: Reproduction, pairs: PairSet, name: str, kind: str, loss: str, **choices: Any
) -> xarray.Dataset:
    """Return maps of a kind that are trained with the learning rate of maps of the same layer."""
    training = best_training(reproduction, pairs, kind, loss)
    title = f"{name}-{kind}-{loss}"
    return load_maps(reproduction, pairs, title, kind, losses=(loss,), training=training, **choices)


def load_by_fraction(reproduction: Reproduction, pairs: PairSet) -> xarray.Dataset:
    """Load MLPs of the layer at the depth of the paper's layer 11, on less and less data."""
    layers = load_same_layer(reproduction, pairs, "mlp")["layer"].values
    # The paper's layer 11 of 12, at the same depth of this model.
    depth = published.FRACTIONS_LAYER / published.LAYERS
    return load_maps(
        reproduction,
        pairs,
        "fractions",
        "mlp",
        losses=("l2",),
        layers=(int(layers[round(depth * (len(layers) - 1))]),),
        fractions=tuple(published.FRACTIONS),
        training=best_training(reproduction, pairs, "mlp", "l2"),
    )


def best_training(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> dict[str, Any]:
    """Return the settings of training, with the best learning rate for maps of the same layer."""
    training = {"epochs": EPOCHS[kind], "precision": "medium"}
    if kind == "naive":
        return training
    result = load_same_layer(reproduction, pairs, kind)
    if str(result["solver"].sel(map=kind).item()) != "adam":
        return training
    rates = result["parameter"].sel(map=kind, loss=loss).values
    # The search is shared: all maps of a kind and loss have one rate, whatever the layer.
    return training | {"rates": (float(np.nanmedian(rates)),)}


def load_maps(
    reproduction: Reproduction[Settings],
    pairs: PairSet,
    title: str,
    kind: str,
    *,
    model: Model | None = None,
    **choices: Any,
) -> xarray.Dataset:
    """Run a study of one kind of map, in a folder where all of them share the hidden tokens."""
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
    inputs = json.dumps([model.identity(), states_of(pairs.reads)])
    mark = sha256(inputs.encode()).hexdigest()[:8]
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


def _training_note(result: xarray.Dataset) -> str:
    """Return the note on how the maps of a result were trained."""
    (kind,) = result["map"].values
    folds = result.sizes["fold"]
    splits = f"{folds} random splits" if folds > 1 else "one random split"
    if kind == "naive":
        return f"The naive map was tested on the test sequences of {splits}."
    title = "MLPs" if kind == "mlp" else "Linear maps"
    if str(result["solver"].item(0)) == RIDGE:
        return (
            f"{title} are ridge regressions on {splits} (for cosine distance, to input tokens "
            "divided by their length); λ was chosen on the validation tokens."
        )
    training = json.loads(result.attrs["settings"])["training"]
    rates = ", ".join(
        f"{float(result['parameter'].sel(loss=loss).median()):g} for {LOSS_TITLES[str(loss)]}"
        for loss in result["loss"].values
    )
    stopped = float((result["epochs"] < training["epochs"]).mean())
    limit = training["epochs"]
    return (
        f"{title} were trained on {splits}, at most {limit} epochs ({100 * stopped:.0f}% "
        f"stopped earlier), with the learning rate {rates}: found once for each kind of map and "
        "loss, among the seven of the paper, for input tokens of the last layer on the first "
        "split. Products of matrices may be rounded to "
        "bfloat16 in training."
    )


def figures_of_maps(
    make: Callable[..., Section], title: str, place: str, *rows: tuple[int, str, str]
) -> Iterator[ExhibitSpec]:
    """Yield the same figure for several kinds of map and losses, by the numbers of the figures."""
    for number, kind, loss in rows:
        of_kind = exhibit(
            f"figure-{number}",
            f"Figure {number} and {place}",
            "pairs",
            title=f"{title}: {MAP_TITLES[kind]}, {LOSS_TITLES[loss]}",
        )
        yield of_kind(partial(make, kind=kind, loss=loss))
