"""Figure 7: generalisation of maps to other sequences."""

import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.identity_maps import (
    MAP_TITLES,
    identity_notes,
    load_by_fraction,
    load_same_layer,
)
from headlight_papers.papers.brunner2020.identity_panels import IDENTIFIED, MAP, RATE, list_rates
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction


@exhibit("figure-7", "Figure 7 and Appendix B.2", "pairs")
def figure_7(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Generalisation of maps to other sequences."""
    pairs = find_pair_set(reproduction)
    results = {kind: load_same_layer(reproduction, pairs, kind) for kind in ("linear", "mlp")}
    fractions = load_by_fraction(reproduction, pairs)
    frame = pandas.DataFrame({"layer": results["linear"]["layer"].values + 1})
    parts = {"train_rate_mean": "train", "rate_mean": "test"}
    rates = (
        xarray.concat([result[list(parts)] for result in results.values()], "map")
        .sel(loss="l2")
        .squeeze(("offset", "fraction"), drop=True)
    )
    for kind in results:
        for name, part in parts.items():
            frame[f"{MAP_TITLES[kind]}, {part}"] = 100 * rates[name].sel(map=kind).values
    return Section(
        explanation=f"{IDENTIFIED} Here with the L2 loss, on the sequences that maps were trained "
        "on and on others; and with a part of the training sequences.",
        drawings=[
            writer.curves(
                rates,
                *(
                    Curve(name, f"{{map}}, {part}", by=MAP, dashed=part == "train", **RATE)
                    for name, part in parts.items()
                ),
                caption="Share of training tokens (dashed) and of test tokens (solid) that are "
                "identified.",
                alternative=f"Linear, test: {list_rates(frame['linear, test'])}",
            )
        ],
        tables=[writer.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=_fraction_rates(fractions),
        notes=identity_notes(reproduction, pairs, *results.values(), fractions),
    )


def _fraction_rates(result: xarray.Dataset) -> list[Comparison]:
    """Return the rates of MLPs of one layer, by the share of training sequences."""
    layer = int(result["layer"].item()) + 1
    rates = result["rate_mean"].squeeze(drop=True)
    return [
        Comparison(
            f"MLP, L2, {100 * fraction:g}% of the training data",
            number,
            100 * float(rates.sel(fraction=fraction)),
            "%",
            f"layer {published.FRACTIONS_LAYER} of {published.LAYERS} there, layer {layer} here",
        )
        for fraction, number in published.FRACTIONS.items()
    ]
