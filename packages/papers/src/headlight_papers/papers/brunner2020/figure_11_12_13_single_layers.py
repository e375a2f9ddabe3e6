"""Figures 11 to 13: maps between one layer and the next, of one model and of two."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.identity_maps import (
    LOSS_TITLES,
    MAP_TITLES,
    identity_notes,
    load_best,
    load_maps,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of, yes_or_no
from headlight_papers.papers.notes import model_name
from headlight_papers.papers.reproduction import Reproduction


def load_single_layers(reproduction: Reproduction, pairs: PairSet, kind: str) -> xarray.Dataset:
    """Load the rates of maps of a kind from each layer to the one below."""
    results = [
        load_best(reproduction, pairs, "single", kind, loss, target="previous_layer")
        for loss in LOSS_TITLES
    ]
    return xarray.concat(results, dim="loss", combine_attrs="override")


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
    return replace(
        _layers_section(writer, rates, dashed, pairs), comparisons=[compared], notes=notes
    )


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
            100 * float(values[-1] - values[-2]) if len(values) > 1 else None,
            "pp",
        )
        for label, result in results.items()
        for loss in LOSS_TITLES
        for values in (_rates(result, loss),)
    ]
    notes = [*identity_notes(reproduction, pairs, results["the model"]), note]
    return replace(_layers_section(writer, rates, dashed, pairs), comparisons=changes, notes=notes)


figure_12, figure_13 = figures_of_sets(
    two_models,
    "Identity across single layers of two models",
    (12, None, "Appendix B.4"),
    (13, "cola", "Appendix B.4"),
    needs=("compared",),
)


def _layers_section(
    writer: ExhibitWriter,
    rates: Mapping[str, xarray.DataArray],
    dashed: Collection[str],
    pairs: PairSet,
) -> Section:
    """Make the drawing and table of rates between one layer and the next."""
    frame = frame_of({label: 100 * values for label, values in rates.items()})
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
    rates = result["rate_mean"].sel(loss=loss)
    return rates.squeeze([dim for dim in rates.dims if dim != "layer"], drop=True)
