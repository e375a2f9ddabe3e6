"""Figures 2, 38 and 39: rates at which tokens are identified."""

from dataclasses import replace

import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Reference, Section
from headlight_papers.papers.brunner2020 import Settings, claims, published
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.figure_8_9_10_generalisation import (
    across,
    load_across_layers,
)
from headlight_papers.papers.brunner2020.identity_maps import (
    LOSS_TITLES,
    MAP_TITLES,
    RIDGE,
    identity_notes,
    load_maps,
    load_same_layer,
)
from headlight_papers.papers.brunner2020.identity_panels import (
    IDENTIFIED,
    LOSS,
    MAP,
    RATE,
    list_rates,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.claims import Claim
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import yes_or_no
from headlight_papers.papers.reproduction import Reproduction


@exhibit("figure-2", "Figure 2 and Section 4.1", "pairs")
def figure_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Identifiability of hidden tokens."""
    content = identifiability(reproduction, writer, None)
    pairs = find_pair_set(reproduction)
    result = load_across_layers(reproduction, pairs, "linear", "cosine")
    rates = result["rate_across_mean"].squeeze(drop=True)
    last = 100 * float(rates[-1, -1])
    picture = across(
        writer,
        result,
        "linear, cosine",
        caption="(b) Linear maps with cosine distance, trained on one layer and tested on all.",
        alternative=f"The map of the last layer finds {last:.1f}% there.",
        name="b",
    )
    compared = [
        Comparison(
            "linear, cosine, trained and tested on the last layer",
            published.TRAINED_LAST,
            last,
            "%",
            "one split",
        ),
        Comparison(
            "linear, cosine, trained on the first layer, in the last two",
            f"below {published.TRAINED_FIRST_BELOW:g}%",
            100 * float(rates[0, -2:].max()),
            "%",
            "the larger of the two here",
        ),
    ]
    return replace(
        content,
        drawings=[*content.drawings, picture],
        comparisons=[*content.comparisons, *compared],
    )


def identifiability(
    reproduction: Reproduction[Settings], writer: ExhibitWriter, name: str | None
) -> Section:
    """Return the section of all maps and both distances, tested on the layer of training."""
    pairs = find_pair_set(reproduction, name)
    results = {kind: load_same_layer(reproduction, pairs, kind) for kind in MAP_TITLES}
    chance = float(results["naive"].attrs["chance"])
    last = results["linear"]["rate"].isel(layer=-1).squeeze(("map", "offset", "fraction"))
    frame = pandas.DataFrame({"layer": results["naive"]["layer"].values + 1})
    rates = xarray.concat(
        [result[["rate_mean", "rate_standard_error"]] for result in results.values()], "map"
    ).squeeze(("offset", "fraction"), drop=True)
    for kind, kind_title in MAP_TITLES.items():
        for loss, title in LOSS_TITLES.items():
            by_layer = rates.sel(map=kind, loss=loss)
            label = f"{kind_title}, {title}"
            frame[label] = 100 * by_layer["rate_mean"].values
            frame[f"s.e. {label}"] = 100 * by_layer["rate_standard_error"].values
    if reproduction.settings.solver != RIDGE:
        folds = reproduction.settings.folds
        results[RIDGE] = load_maps(
            reproduction, pairs, "same-ridge", "linear", folds=folds, solver=RIDGE
        )
        for loss, title in LOSS_TITLES.items():
            ridge = results[RIDGE]["rate_mean"].sel(map="linear", loss=loss)
            frame[f"linear by ridge, {title}"] = 100 * ridge.squeeze(drop=True).values
    return Section(
        explanation=IDENTIFIED,
        drawings=[
            writer.curves(
                rates.assign(band=2 * rates["rate_standard_error"]),
                Curve(
                    "rate_mean",
                    "{map}, {loss}",
                    by=(MAP, LOSS),
                    error="band",
                    dashed=("l2",),
                    references=[Reference(chance, "chance")],
                    **RATE,
                ),
                caption=f"(a) Share of test tokens identified in each layer, {pairs.title}; cosine "
                "distance solid, L2 dashed.",
                alternative=f"Linear, cosine: {list_rates(frame['linear, cosine'])}",
                name="a",
            )
        ],
        tables=[writer.table(frame, "By layer, in percent; s.e. over splits", formats=".1f")],
        comparisons=_comparisons(pairs, frame, chance, claims.in_the_angle(last)),
        notes=identity_notes(reproduction, pairs, *results.values()),
    )


figure_38, figure_39 = figures_of_sets(
    identifiability,
    "Identifiability of hidden tokens",
    (38, "cola", "Appendix D.1.1"),
    (39, "mnli", "Appendix D.1.2"),
)


def _comparisons(
    pairs: PairSet, frame: pandas.DataFrame, chance: float, claim: Claim
) -> list[Comparison]:
    is_papers = pairs.task == "mrpc"
    last = frame.iloc[-1]
    ridge = [
        Comparison(
            f"linear, {title}, last layer, by ridge regression",
            None,
            float(last[f"linear by ridge, {title}"]),
            "%",
            f"trained with Adam {last[f'linear, {title}']:.1f}%",
        )
        for title in LOSS_TITLES.values()
        if f"linear by ridge, {title}" in frame
    ]
    return [
        Comparison(
            "linear, cosine, last layer",
            published.LINEAR_COSINE_LAST if is_papers else None,
            float(last["linear, cosine"]),
            "%",
            "" if is_papers else "the paper gives a number for MRPC alone",
        ),
        Comparison("random guessing", published.CHANCE.get(pairs.task), 100 * chance, "%"),
        claim.comparison,
        Comparison(
            "naive lookup finds fewer in the last layer than in the first (cosine)",
            "yes",
            yes_or_no(last["naive, cosine"] < frame["naive, cosine"].iloc[0]),
            note=f"{last['naive, cosine']:.1f}% against {frame['naive, cosine'].iloc[0]:.1f}%",
        ),
        *ridge,
    ]
