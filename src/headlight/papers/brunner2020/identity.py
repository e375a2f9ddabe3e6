"""Section 4: how often tokens are identified (Figures 2, 7, 38 and 39)."""

from dataclasses import replace

import numpy as np
import pandas
import xarray

from headlight.papers.brunner2020 import published_identity as published
from headlight.papers.brunner2020.datasets import main_set, pair_title
from headlight.papers.brunner2020.identity_layers import across_panel
from headlight.papers.brunner2020.identity_results import (
    LOSS_TITLES,
    MAP_TITLES,
    RIDGE,
    across_layers,
    by_fraction,
    identity_notes,
    in_closed_form,
    same_layer,
)
from headlight.papers.reproduction import Study
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import Line, LinePanel, Reference, lines

COLOURS = {"naive": "#59626d", "linear": "#0072b2", "mlp": "#d1500a"}
IDENTIFIED = (
    "A hidden token is identified if, of all input tokens of its sequence, its own is nearest to "
    "what a map makes of it; the map is the identity (naive), a matrix or an MLP, trained on other "
    "sequences to give back input tokens. Distance is the loss that it was trained with."
)


def figure_2(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Identifiability on MRPC by layer, and how maps of one layer do on the others."""
    name = main_set(study)
    made = identifiability(study, desk, name, "Figure 2 and Section 4.1")
    across = across_layers(study, "linear", "cosine")
    last = across["rate_across_mean"].squeeze(drop=True)
    layers = list(last["layer"].values)
    picture = desk.picture(
        lines([across_panel(across, "linear, cosine")]),
        "(b) Linear maps with cosine distance, trained on one layer and tested on all.",
        f"The map of the last layer finds {100 * float(last[-1, -1]):.1f}% there.",
        name="b",
    )
    highest = float(last.sel(layer=layers[0], tested_layer=layers[-2:]).max())
    compared = [
        Comparison(
            "linear, cosine, trained and tested on the last layer",
            published.TRAINED_LAST,
            100 * float(last[-1, -1]),
            "%",
            "one split",
        ),
        Comparison(
            "linear, cosine, trained on the first layer, in the last two",
            f"below {published.TRAINED_FIRST_BELOW:g}%",
            100 * highest,
            "%",
            "the larger of the two here",
        ),
    ]
    return replace(
        made,
        pictures=[*made.pictures, picture],
        comparisons=[*made.comparisons, *compared],
        files=desk.written,
    )


def figure_38(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Identifiability on CoLA."""
    return identifiability(study, desk, "cola", "Figure 38 and Appendix D.1.1")


def figure_39(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Identifiability on MNLI."""
    return identifiability(study, desk, "mnli", "Figure 39 and Appendix D.1.2")


def identifiability(study: Study, desk: ExhibitWriter, name: str, source: str) -> Exhibit:
    """Rates of all maps and both distances by layer, trained and tested on the same layer.

    Args:
        study: on which model and data.
        desk: where it is put together.
        name: of the set of pairs.
        source: where the paper has it.
    """
    results = {kind: same_layer(study, name, kind) for kind in MAP_TITLES}
    frame = pandas.DataFrame({"layer": results["naive"]["layer"].values + 1})
    drawn = []
    for kind, found in results.items():
        for loss in found["loss"].values:
            line, error = rate_line(found, kind, str(loss))
            drawn.append(line)
            frame[line.label] = 100 * line.y
            frame[f"s.e. {line.label}"] = 100 * error
    if study.options.solver != RIDGE:
        results[RIDGE] = in_closed_form(study, name)
        for loss, title in LOSS_TITLES.items():
            rates = results[RIDGE]["rate_mean"].sel(map="linear", loss=loss)
            frame[f"linear by ridge, {title}"] = 100 * rates.squeeze(drop=True).values
    chance = float(results["naive"].attrs["chance"])
    panel = LinePanel(
        "", drawn, "layer", "identified", percent=True, references=[Reference(chance, "chance")]
    )
    return Exhibit(
        name=desk.exhibit,
        title=f"Identifiability of hidden tokens, {pair_title(name)}",
        source=f"Brunner et al. (2020), {source}",
        explanation=IDENTIFIED,
        pictures=[
            desk.picture(
                lines([panel]),
                f"(a) Share of test tokens identified in each layer, {pair_title(name)}; cosine "
                "distance solid, L2 dashed.",
                f"Linear, cosine: {spoken(frame['linear, cosine'])}",
                name="a",
            )
        ],
        tables=[desk.table(frame, "By layer, in percent; s.e. over splits", formats=".1f")],
        comparisons=_compared(name, frame, chance),
        notes=identity_notes(study, name, *results.values()),
        files=desk.written,
    )


def figure_7(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Rates on training and on test tokens, with the L2 loss, and by the amount of data."""
    name = main_set(study)
    results = {kind: same_layer(study, name, kind) for kind in ("linear", "mlp")}
    fractions = by_fraction(study)
    frame = pandas.DataFrame({"layer": results["linear"]["layer"].values + 1})
    drawn = []
    for kind, found in results.items():
        for part, dashed in (("train_rate", True), ("rate", False)):
            values = found[f"{part}_mean"].sel(map=kind, loss="l2").squeeze(drop=True).values
            label = f"{MAP_TITLES[kind]}, {'train' if dashed else 'test'}"
            drawn.append(
                Line(label, np.asarray(frame["layer"]), values, colour=COLOURS[kind], dashed=dashed)
            )
            frame[label] = 100 * values
    return Exhibit(
        name=desk.exhibit,
        title="Generalisation of maps to other sequences",
        source="Brunner et al. (2020), Figure 7 and Appendix B.2",
        explanation=f"{IDENTIFIED} Here with the L2 loss, on the sequences that maps were trained "
        "on and on others; and with a part of the training sequences.",
        pictures=[
            desk.picture(
                lines([LinePanel("", drawn, "layer", "identified", percent=True)]),
                "Share of training tokens (dashed) and of test tokens (solid) that are identified.",
                f"Linear, test: {spoken(frame['linear, test'])}",
            )
        ],
        tables=[desk.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=_by_fraction(fractions),
        notes=identity_notes(study, name, *results.values(), fractions),
        files=desk.written,
    )


def rate_line(found: xarray.Dataset, kind: str, loss: str) -> tuple[Line, np.ndarray]:
    """The mean rate by layer with a band of two standard errors, and the standard errors."""
    chosen = found.sel(map=kind, loss=loss).squeeze(("offset", "fraction"), drop=True)
    y, error = chosen["rate_mean"].values, chosen["rate_standard_error"].values
    low, high = (y - 2 * error, y + 2 * error) if np.isfinite(error).all() else (None, None)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    x = chosen["layer"].values + 1
    return Line(label, x, y, low, high, COLOURS[kind], dashed=loss == "l2"), error


def spoken(values: "pandas.Series[float]") -> str:
    """The rates of all layers as words."""
    return ", ".join(f"{value:.1f}%" for value in values) + "."


def _compared(name: str, frame: pandas.DataFrame, chance: float) -> list[Comparison]:
    task = name.partition("-")[0]
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
            published.LINEAR_COSINE_LAST if task == "mrpc" else None,
            float(last["linear, cosine"]),
            "%",
            "" if task == "mrpc" else "the paper gives a number for MRPC alone",
        ),
        Comparison("random guessing", published.CHANCE.get(task), 100 * chance, "%"),
        Comparison(
            "cosine finds more than L2 in the last layer (linear)",
            "yes",
            "yes" if last["linear, cosine"] > last["linear, L2"] else "no",
            note=f"{last['linear, cosine']:.2f}% against {last['linear, L2']:.2f}%",
        ),
        Comparison(
            "naive lookup finds fewer in the last layer than in the first (cosine)",
            "yes",
            "yes" if last["naive, cosine"] < frame["naive, cosine"].iloc[0] else "no",
        ),
        *ridge,
    ]


def _by_fraction(found: xarray.Dataset) -> list[Comparison]:
    """MLPs of one layer, by the share of training sequences."""
    layer = int(found["layer"].item()) + 1
    rates = found["rate_mean"].squeeze(drop=True)
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
