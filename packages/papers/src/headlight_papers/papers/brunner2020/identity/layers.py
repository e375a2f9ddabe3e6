"""Appendices B.3 and B.4: maps of one layer on others, and between layers (Figures 8 to 13)."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import claims
from headlight_papers.papers.brunner2020.identity.results import (
    LOSS_TITLES,
    MAP_TITLES,
    identity_notes,
    load_across_layers,
    load_single_layers,
    load_single_layers_of_second,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit import ExhibitSpec, exhibit
from headlight_papers.papers.naming import frame_of, layer_names, yes_or_no
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_name
from headlight_papers.papers.writer import ExhibitWriter

SHOWN = 4
"""Layers whose maps are drawn as lines: the first, the middle and the last two."""


def generalisation(
    reproduction: Reproduction, writer: ExhibitWriter, kind: str, loss: str
) -> Section:
    """Maps trained on one layer and tested on all.

    Args:
        reproduction: on which model and data.
        writer: of the files.
        kind: of map, ``linear`` or ``mlp``.
        loss: ``cosine`` or ``l2``.
    """
    pairs = find_pair_set(reproduction)
    found = load_across_layers(reproduction, pairs, kind, loss)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = found["rate_across_mean"].squeeze(drop=True)
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
                found,
                label,
                caption=f"Share of test tokens identified in each layer, {label}.",
                alternative=f"On average {claim.ours} the layer of training.",
            ),
            writer.maps(
                found.squeeze(drop=True),
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
        notes=identity_notes(reproduction, pairs, found),
    )


figure_8, figure_9, figure_10 = (
    ExhibitSpec(
        f"figure-{number}",
        f"Maps of one layer on all layers: {MAP_TITLES[kind]}, {LOSS_TITLES[loss]}",
        f"Brunner et al. (2020), Figure {number} and Appendix B.3",
        partial(generalisation, kind=kind, loss=loss),
        ("pairs",),
    )
    for number, kind, loss in ((8, "linear", "l2"), (9, "mlp", "l2"), (10, "mlp", "cosine"))
)


def across(writer: ExhibitWriter, found: xarray.Dataset, title: str, **words: Any) -> Drawing:
    """Lines of the first, the middle and the last two layers' maps over the layers tested."""
    count = found.sizes["layer"]
    shown = sorted({0, (count - 1) // 2, max(count - 2, 0), count - 1})[:SHOWN]
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
    return writer.curves(found.isel(layer=shown).squeeze(drop=True), curve, **words)


@exhibit(
    "figure-11",
    "Identity across single layers",
    "Brunner et al. (2020), Figure 11 and Appendix B.4",
    ("pairs",),
)
def figure_11(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """All maps from each layer to the one below."""
    pairs = find_pair_set(reproduction)
    results = {kind: load_single_layers(reproduction, pairs, kind) for kind in MAP_TITLES}
    rates = {
        f"{MAP_TITLES[kind]}, {LOSS_TITLES[str(loss)]}": _rates(found, str(loss))
        for kind, found in results.items()
        for loss in found["loss"].values
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
    """The naive map from each layer to the one below, in the model and in a second one.

    Args:
        reproduction: on which models and data.
        writer: of the files.
        name: of the set of pairs; None for the first.
    """
    pairs = find_pair_set(reproduction, name)
    results = {
        "the model": load_single_layers(reproduction, pairs, "naive"),
        "the second": load_single_layers_of_second(reproduction, pairs),
    }
    rates = {
        f"{label}, {LOSS_TITLES[loss]}": _rates(found, loss)
        for label, found in results.items()
        for loss in LOSS_TITLES
    }
    dashed = [label for label in rates if label.startswith("the model")]
    names = [model_name(found.attrs["model"]) for found in results.values()]
    note = (
        f"Dashed is {names[0]}, solid the second model, {names[1]}; in the paper BERT before and "
        "after it was fine-tuned on this set."
    )
    notes = identity_notes(reproduction, pairs, results["the model"])
    return replace(
        _between(writer, rates, dashed, pairs), comparisons=_drops(results), notes=[*notes, note]
    )


figure_12, figure_13 = figures_of_sets(
    two_models,
    "Identity across single layers of two models",
    (12, None, "Appendix B.4"),
    (13, "cola", "Appendix B.4"),
    needs=("compared",),
)


def _drops(results: Mapping[str, xarray.Dataset]) -> list[Comparison]:
    """By how much the rate changes across the last layer, against the one before."""
    return [
        Comparison(
            f"naive, {LOSS_TITLES[loss]}: change across the last layer, {label}",
            None,
            100 * float(rates[-1] - rates[-2]) if len(rates) > 1 else None,
            "pp",
        )
        for label, found in results.items()
        for loss in LOSS_TITLES
        for rates in (_rates(found, loss),)
    ]


def _between(
    writer: ExhibitWriter,
    rates: Mapping[str, xarray.DataArray],
    dashed: Collection[str],
    pairs: PairSet,
) -> Section:
    """The drawing and table of rates between one layer and the next."""
    frame = frame_of({label: 100 * one for label, one in rates.items()})
    found = xarray.concat(list(rates.values()), pandas.Index(rates, name="map"))
    first = next(iter(rates))
    return Section(
        explanation="How often a hidden token is found again among the hidden tokens of the layer "
        "below it, of the same sequence; for the first layer, among its input tokens.",
        drawings=[
            writer.curves(
                found.to_dataset(name="rate"),
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


def _rates(found: xarray.Dataset, loss: str) -> xarray.DataArray:
    """By layer."""
    rates = found["rate_mean"].sel(loss=loss)
    return rates.squeeze([dim for dim in rates.dims if dim != "layer"], drop=True)
