"""Figures 8 to 10: maps of one layer, tested on others."""

from typing import Any

import pandas
import xarray

from headlight.views.parts import By, Curve, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import claims
from headlight_papers.papers.brunner2020.identity_maps import (
    LOSS_TITLES,
    MAP_TITLES,
    figures_of_maps,
    identity_notes,
    load_best,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.paper_numbering import layer_names
from headlight_papers.papers.reproduction import Reproduction


def load_across_layers(
    reproduction: Reproduction, pairs: PairSet, kind: str, loss: str
) -> xarray.Dataset:
    """Load the rates of maps of a kind, trained on each layer and tested on all."""
    return load_best(reproduction, pairs, "across", kind, loss, across=True)


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


figure_8, figure_9, figure_10 = figures_of_maps(
    generalisation,
    "Maps of one layer on all layers",
    "Appendix B.3",
    (8, "linear", "l2"),
    (9, "mlp", "l2"),
    (10, "mlp", "cosine"),
)


def across(writer: ExhibitWriter, result: xarray.Dataset, title: str, **words: Any) -> Drawing:
    """Draw the rates of the first, middle and last two layers' maps over the layers tested."""
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
