"""Section 4 and Appendix B.5: rates at which tokens and their neighbours are identified."""

from dataclasses import replace
from typing import Any

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Reference, Section
from headlight_papers.papers.brunner2020 import Settings, claims, published
from headlight_papers.papers.brunner2020.identity_layers import (
    LOSS_TITLES,
    MAP_TITLES,
    OFFSETS,
    RIDGE,
    across,
    figures_of_maps,
    identity_notes,
    load_across_layers,
    load_best,
    load_by_fraction,
    load_maps,
    load_same_layer,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.claims import Claim
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, yes_or_no
from headlight_papers.papers.reproduction import Reproduction

exhibit = exhibits_of(published.SOURCE)

COLOURS = {"naive": "#59626d", "linear": "#0072b2", "mlp": "#d1500a"}
MAP, LOSS = By("map", MAP_TITLES), By("loss", LOSS_TITLES)
RATE: dict[str, Any] = {"percent": True, "y_label": "identified", "colour": COLOURS}
IDENTIFIED = (
    "A hidden token is identified if, of all input tokens of its sequence, its own is nearest to "
    "what a map makes of it; the map is the identity (naive), a matrix or an MLP, trained on other "
    "sequences to give back input tokens. Distance is the loss that it was trained with."
)


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
            of = rates.sel(map=kind, loss=loss)
            label = f"{kind_title}, {title}"
            frame[label] = 100 * of["rate_mean"].values
            frame[f"s.e. {label}"] = 100 * of["rate_standard_error"].values
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
        comparisons=_by_fraction(fractions),
        notes=identity_notes(reproduction, pairs, *results.values(), fractions),
    )


def list_rates(values: "pandas.Series[float]") -> str:
    """The rates of all layers as words."""
    return ", ".join(f"{value:.1f}%" for value in values) + "."


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


def _by_fraction(result: xarray.Dataset) -> list[Comparison]:
    """MLPs of one layer, by the share of training sequences."""
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


OFFSET_COLOURS = {
    -3: "#9cc4e4",
    -2: "#4f97cf",
    -1: "#0b559f",
    3: "#f2a49b",
    2: "#e05a4b",
    1: "#a50f15",
}
"""Previous tokens are blue and next ones red, as in the paper; the nearest are darkest."""


def recovered_neighbours(
    reproduction: Reproduction, writer: ExhibitWriter, kind: str, loss: str
) -> Section:
    """Return the section of tokens up to three positions away that are recovered, by layer."""
    pairs = find_pair_set(reproduction)
    result = load_best(reproduction, pairs, "neighbours", kind, loss, offsets=OFFSETS)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = result["rate_mean"].squeeze(("map", "loss", "fraction"), drop=True)
    frame = frame_of({f"{offset:+}": 100 * rates.sel(offset=offset) for offset in OFFSET_COLOURS})
    last = rates.isel(layer=-1)
    recovered = (
        f"{int(offset):+}: {100 * float(last.sel(offset=offset)):.1f}%"
        for offset in last["offset"].values
    )
    return Section(
        explanation="Maps are trained to give the input token at another position of the sequence, "
        "up to three before and behind, where there is one. It is recovered if it is the nearest "
        "of all input tokens of the sequence.",
        drawings=[
            writer.curves(
                rates.sel(offset=list(OFFSET_COLOURS)).to_dataset(),
                Curve(
                    "rate_mean",
                    by=By("offset", {offset: f"{offset:+}" for offset in OFFSET_COLOURS}),
                    colour=OFFSET_COLOURS,
                    marked=True,
                    percent=True,
                    y_label="recovered",
                ),
                caption="Share of neighbours recovered; previous tokens blue, next ones red: "
                f"{label}.",
                alternative=f"Last layer: {', '.join(recovered)}",
            )
        ],
        tables=[writer.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=_neighbours_comparisons(rates),
        notes=identity_notes(reproduction, pairs, result),
    )


figure_14, figure_15, figure_16, figure_17 = figures_of_maps(
    recovered_neighbours,
    "Neighbouring input tokens recovered",
    "Appendix B.5",
    (14, "linear", "cosine"),
    (15, "mlp", "cosine"),
    (16, "mlp", "l2"),
    (17, "linear", "l2"),
)


def _neighbours_comparisons(rates: xarray.DataArray) -> list[Comparison]:
    """Return the paper's statements on all four figures beside the numbers here."""
    mean = rates.mean("layer")
    nearer = all(
        float(mean.sel(offset=sign * near)) > float(mean.sel(offset=sign * (near + 1)))
        for sign in (-1, 1)
        for near in (1, 2)
    )
    deeper = bool((rates.isel(layer=-1) < rates.isel(layer=0)).all())
    sides = ([-3, -2, -1], [1, 2, 3])
    previous, following = (float(mean.sel(offset=offsets).mean()) for offsets in sides)
    return [
        Comparison(
            "falls with distance, on both sides",
            "yes",
            yes_or_no(nearer),
            note=_each(mean),
        ),
        Comparison(
            "lower in the last layer than in the first",
            "yes",
            yes_or_no(deeper),
            note=f"first {_each(rates.isel(layer=0))}; last {_each(rates.isel(layer=-1))}",
        ),
        Comparison(
            "previous and next tokens differ",
            "yes",
            100 * (previous - following),
            "pp",
            "previous minus next here, on average",
        ),
    ]


def _each(rates: xarray.DataArray) -> str:
    """The rate of every offset."""
    places = zip(rates["offset"].values, rates.values, strict=True)
    return ", ".join(f"{int(offset):+d} {rate:.1%}".replace("-", "−") for offset, rate in places)
