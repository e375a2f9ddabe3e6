"""Appendices B.3 and B.4: maps of one layer on others (Figures 8 to 13), and shared results."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pandas
import xarray

from headlight import Model
from headlight.views.parts import By, Comparison, Curve, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import Settings, claims, published
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit import (
    ExhibitSpec,
    ExhibitWriter,
    exhibits_of,
    frame_of,
    layer_names,
    yes_or_no,
)
from headlight_papers.papers.reproduction import Reproduction, model_name, model_note, states_of
from headlight_papers.papers.settings import RUNS

exhibit = exhibits_of(published.SOURCE)

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
    return load_maps(reproduction, pairs, f"same-{kind}", kind, folds=folds, across=across)


def load_best(
    reproduction: Reproduction, pairs: PairSet, name: str, kind: str, loss: str, **choices: Any
) -> xarray.Dataset:
    """Return maps of a kind that are trained with the learning rate of maps of the same layer."""
    training = best_training(reproduction, pairs, kind, loss)
    title = f"{name}-{kind}-{loss}"
    return load_maps(reproduction, pairs, title, kind, losses=(loss,), training=training, **choices)


def load_across_layers(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> xarray.Dataset:
    """Maps of a kind, trained on each layer and tested on all."""
    return load_best(reproduction, pairs, "across", kind, loss, across=True)


def load_single_layers(reproduction: Reproduction, pairs: PairSet, kind: str) -> xarray.Dataset:
    """Maps of a kind from each layer to the one below."""
    results = [
        load_best(reproduction, pairs, "single", kind, loss, target="previous_layer")
        for loss in LOSS_TITLES
    ]
    return xarray.concat(results, dim="loss", combine_attrs="override")


def load_by_fraction(reproduction: Reproduction, pairs: PairSet) -> xarray.Dataset:
    """MLPs of the layer that stands where the paper's layer 11 does, on less and less data."""
    layers = load_same_layer(reproduction, pairs, "mlp")["layer"].values
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


SHOWN = 4
"""Layers whose maps are drawn as lines: the first, the middle and the last two."""


def generalisation(
    reproduction: Reproduction, writer: ExhibitWriter, kind: str, loss: str
) -> Section:
    """Return the section of maps that are trained on one layer and tested on all."""
    pairs = find_pair_set(reproduction)
    result = load_across_layers(reproduction, pairs, kind, loss)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = result["rate_across_mean"].squeeze(drop=True)
    names = layer_names(rates)
    frame = pandas.DataFrame(100 * rates.values, columns=[f"on {name}" for name in names])
    frame.insert(0, "trained on", names)
    claim = claims.easier_downwards(rates, "MLPs" if kind == "mlp" else "linear maps")
    return Section(
        explanation="Maps are trained to recover input tokens from the hidden tokens of one layer, "
        "and tested on those of every layer, of other sequences.",
        drawings=[
            across(
                writer,
                result,
                label,
                caption=f"Share of test tokens identified in each layer, {label}.",
                alternative=f"On average {claim.ours} the layer of training.",
            ),
            writer.maps(
                result.squeeze(drop=True),
                Map(
                    "rate_across_mean",
                    label,
                    rows=By("layer", heading="trained on layer"),
                    columns=By("tested_layer", heading="tested on layer"),
                    unit="",
                ),
                caption="The same for maps of every layer.",
                alternative=f"Rows are layers of training, columns those of testing: {label}.",
                name="all",
            ),
        ],
        tables=[writer.table(frame, "In percent", formats=".1f")],
        comparisons=[claim.comparison],
        notes=identity_notes(reproduction, pairs, result),
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


figure_8, figure_9, figure_10 = figures_of_maps(
    generalisation,
    "Maps of one layer on all layers",
    "Appendix B.3",
    (8, "linear", "l2"),
    (9, "mlp", "l2"),
    (10, "mlp", "cosine"),
)


def across(writer: ExhibitWriter, result: xarray.Dataset, title: str, **words: Any) -> Drawing:
    """Lines of the first, the middle and the last two layers' maps over the layers tested."""
    count = result.sizes["layer"]
    layers = sorted({0, (count - 1) // 2, max(count - 2, 0), count - 1})[:SHOWN]
    curve = Curve(
        "rate_across_mean",
        "trained on {layer}",
        title,
        by="layer",
        over="tested_layer",
        percent=True,
        x_label="tested on layer",
        y_label="identified",
        marked=True,
    )
    return writer.curves(result.isel(layer=layers).squeeze(drop=True), curve, **words)


@exhibit("figure-11", "Figure 11 and Appendix B.4", "pairs")
def figure_11(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Identity across single layers."""
    pairs = find_pair_set(reproduction)
    results = {kind: load_single_layers(reproduction, pairs, kind) for kind in MAP_TITLES}
    rates = {
        f"{MAP_TITLES[kind]}, {LOSS_TITLES[str(loss)]}": _rates(result, str(loss))
        for kind, result in results.items()
        for loss in result["loss"].values
    }
    naive = {loss: float(_rates(results["naive"], loss).mean()) for loss in LOSS_TITLES}
    compared = Comparison(
        "naive lookup: cosine distance finds more than L2, on average over layers",
        "yes",
        yes_or_no(naive["cosine"] > naive["l2"]),
        note=f"{100 * naive['cosine']:.1f}% against {100 * naive['l2']:.1f}%",
    )
    notes = identity_notes(reproduction, pairs, *results.values())
    dashed = [label for label in rates if label.endswith(LOSS_TITLES["l2"])]
    return replace(_between(writer, rates, dashed, pairs), comparisons=[compared], notes=notes)


def two_models(reproduction: Reproduction, writer: ExhibitWriter, name: str | None) -> Section:
    """Return the section of the naive map to the layer below, in the model and in a second one."""
    pairs = find_pair_set(reproduction, name)
    results = {
        "the model": load_single_layers(reproduction, pairs, "naive"),
        "the second": load_maps(
            reproduction,
            pairs,
            "single-compared",
            "naive",
            model=reproduction.compared,
            target="previous_layer",
        ),
    }
    rates = {
        f"{label}, {LOSS_TITLES[loss]}": _rates(result, loss)
        for label, result in results.items()
        for loss in LOSS_TITLES
    }
    dashed = [label for label in rates if label.startswith("the model")]
    names = [model_name(result.attrs["model"]) for result in results.values()]
    note = (
        f"Dashed is {names[0]}, solid the second model, {names[1]}; in the paper BERT before and "
        "after it was fine-tuned on this set."
    )
    changes = [
        Comparison(
            f"naive, {LOSS_TITLES[loss]}: change across the last layer, {label}",
            None,
            100 * float(each[-1] - each[-2]) if len(each) > 1 else None,
            "pp",
        )
        for label, result in results.items()
        for loss in LOSS_TITLES
        for each in (_rates(result, loss),)
    ]
    notes = [*identity_notes(reproduction, pairs, results["the model"]), note]
    return replace(_between(writer, rates, dashed, pairs), comparisons=changes, notes=notes)


figure_12, figure_13 = figures_of_sets(
    two_models,
    "Identity across single layers of two models",
    (12, None, "Appendix B.4"),
    (13, "cola", "Appendix B.4"),
    needs=("compared",),
)


def _between(
    writer: ExhibitWriter,
    rates: Mapping[str, xarray.DataArray],
    dashed: Collection[str],
    pairs: PairSet,
) -> Section:
    """The drawing and table of rates between one layer and the next."""
    frame = frame_of({label: 100 * one for label, one in rates.items()})
    combined = xarray.concat(list(rates.values()), pandas.Index(rates, name="map"))
    first = next(iter(rates))
    return Section(
        explanation="How often a hidden token is found again among the hidden tokens of the layer "
        "below it, of the same sequence; for the first layer, among its input tokens.",
        drawings=[
            writer.curves(
                combined.to_dataset(name="rate"),
                Curve(
                    "rate",
                    by="map",
                    dashed=dashed,
                    percent=True,
                    y_label="identified in the layer below",
                ),
                caption=f"Share of test tokens found again in the layer below, {pairs.title}.",
                alternative=f"{first}: " + ", ".join(f"{value:.1f}%" for value in frame[first]),
            )
        ],
        tables=[writer.table(frame, "By layer, in percent", formats=".1f")],
    )


def _rates(result: xarray.Dataset, loss: str) -> xarray.DataArray:
    """By layer."""
    rates = result["rate_mean"].sel(loss=loss)
    return rates.squeeze([dim for dim in rates.dims if dim != "layer"], drop=True)
