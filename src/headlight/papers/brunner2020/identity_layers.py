"""Appendices B.3 and B.4: maps of one layer on others, and between layers (Figures 8 to 13)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas
import xarray

from headlight.papers.brunner2020.datasets import main_set, pair_title
from headlight.papers.brunner2020.identity_results import (
    LOSS_TITLES,
    MAP_TITLES,
    across_layers,
    identity_notes,
    single_layers,
    single_layers_compared,
)
from headlight.papers.reproduction import Study
from headlight.papers.text import model_name
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import HeadMap, Line, LinePanel, head_map, lines

SHOWN = 4
"""Layers whose maps are drawn as lines: the first, the middle and the last two."""


def figure_8(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Linear maps with the L2 loss on all layers."""
    return generalisation(study, desk, "linear", "l2", "Figure 8")


def figure_9(study: Study, desk: ExhibitWriter) -> Exhibit:
    """MLPs with the L2 loss on all layers."""
    return generalisation(study, desk, "mlp", "l2", "Figure 9")


def figure_10(study: Study, desk: ExhibitWriter) -> Exhibit:
    """MLPs with the cosine loss on all layers."""
    return generalisation(study, desk, "mlp", "cosine", "Figure 10")


def generalisation(study: Study, desk: ExhibitWriter, kind: str, loss: str, source: str) -> Exhibit:
    """Maps trained on one layer and tested on all.

    Args:
        study: on which model and data.
        desk: where it is put together.
        kind: of map, ``linear`` or ``mlp``.
        loss: ``cosine`` or ``l2``.
        source: where the paper has it.
    """
    found = across_layers(study, kind, loss)
    label = f"{MAP_TITLES[kind]}, {LOSS_TITLES[loss]}"
    rates = found["rate_across_mean"].squeeze(drop=True)
    names = [str(int(layer) + 1) for layer in rates["layer"].values]
    frame = pandas.DataFrame(100 * rates.values, columns=[f"on {name}" for name in names])
    frame.insert(0, "trained on", names)
    up, down = directions(rates)
    drawn = HeadMap(
        label,
        rates.values,
        rows=names,
        columns=names,
        row_label="trained on layer",
        column_label="tested on layer",
    )
    return Exhibit(
        name=desk.exhibit,
        title=f"Maps of one layer on all layers: {label}",
        source=f"Brunner et al. (2020), {source} and Appendix B.3",
        explanation="Maps are trained to recover input tokens from the hidden tokens of one layer, "
        "and tested on those of every layer, of other sequences.",
        pictures=[
            desk.picture(
                lines([across_panel(found, label)]),
                f"Share of test tokens identified in each layer, {label}.",
                f"On higher layers {100 * up:.1f}% on average, on lower ones {100 * down:.1f}%.",
            ),
            desk.picture(
                head_map([drawn]),
                "The same for maps of every layer.",
                f"Each map finds most near the layer that it was trained on: {label}.",
                name="all",
            ),
        ],
        tables=[desk.table(frame, "In percent", formats=".1f")],
        comparisons=[
            Comparison(
                "generalises worse to later layers than to earlier ones",
                "yes",
                "yes" if up < down else "no",
                note=f"{100 * up:.1f}% against {100 * down:.1f}%",
            )
        ],
        notes=identity_notes(study, main_set(study), found),
        files=desk.written,
    )


def across_panel(found: xarray.Dataset, title: str) -> LinePanel:
    """Lines of the first, the middle and the last two layers' maps over the layers tested."""
    rates = found["rate_across_mean"].squeeze(drop=True)
    count = rates.sizes["layer"]
    shown = sorted({0, (count - 1) // 2, max(count - 2, 0), count - 1})[:SHOWN]
    x = rates["tested_layer"].values + 1
    drawn = [
        Line(f"trained on {int(rates['layer'][place]) + 1}", x, rates[place].values, marked=True)
        for place in shown
    ]
    return LinePanel(title, drawn, "tested on layer", "identified", percent=True)


def directions(rates: xarray.DataArray) -> tuple[float, float]:
    """The mean rate on layers above the one trained on, and on those below."""
    values = rates.values
    above = np.triu(np.ones_like(values, dtype=bool), 1)
    with np.errstate(invalid="ignore"):
        return (
            (float(values[above].mean()), float(values[above.T].mean()))
            if above.any()
            else (float("nan"), float("nan"))
        )


def figure_11(study: Study, desk: ExhibitWriter) -> Exhibit:
    """All maps from each layer to the one below."""
    name = main_set(study)
    results = {kind: single_layers(study, name, kind) for kind in MAP_TITLES}
    drawn = [
        _line(found, str(loss), f"{MAP_TITLES[kind]}, {LOSS_TITLES[str(loss)]}", loss == "l2")
        for kind, found in results.items()
        for loss in found["loss"].values
    ]
    naive = {loss: _rates(results["naive"], loss).mean() for loss in LOSS_TITLES}
    compared = Comparison(
        "naive lookup: cosine distance finds more than L2, on average over layers",
        "yes",
        "yes" if naive["cosine"] > naive["l2"] else "no",
        note=f"{100 * naive['cosine']:.1f}% against {100 * naive['l2']:.1f}%",
    )
    made = _between(desk, drawn, "Figure 11 and Appendix B.4", name)
    notes = identity_notes(study, name, *results.values())
    return replace(made, comparisons=[compared], notes=notes)


def figure_12(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Two models on MRPC."""
    return two_models(study, desk, main_set(study), "Figure 12 and Appendix B.4")


def figure_13(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Two models on CoLA."""
    return two_models(study, desk, "cola", "Figure 13 and Appendix B.4")


def two_models(study: Study, desk: ExhibitWriter, name: str, source: str) -> Exhibit:
    """The naive map from each layer to the one below, in the model and in a second one.

    Args:
        study: on which models and data.
        desk: where it is put together.
        name: of the set of pairs.
        source: where the paper has it.
    """
    results = {
        "the model": single_layers(study, name, "naive"),
        "the second": single_layers_compared(study, name),
    }
    drawn = [
        _line(found, loss, f"{label}, {LOSS_TITLES[loss]}", label == "the model")
        for label, found in results.items()
        for loss in LOSS_TITLES
    ]
    names = [model_name(found.attrs["model"]) for found in results.values()]
    note = (
        f"Dashed is {names[0]}, solid the second model, {names[1]}; in the paper BERT before and "
        "after it was fine-tuned on this set."
    )
    return replace(
        _between(desk, drawn, source, name),
        comparisons=_drops(results),
        notes=[*identity_notes(study, name, results["the model"]), note],
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


def _between(desk: ExhibitWriter, drawn: list[Line], source: str, name: str) -> Exhibit:
    """The drawing and table of rates between one layer and the next."""
    frame = pandas.DataFrame({"layer": drawn[0].x, **{line.label: 100 * line.y for line in drawn}})
    spoken = f"{drawn[0].label}: " + ", ".join(f"{100 * value:.1f}%" for value in drawn[0].y)
    panel = LinePanel("", drawn, "layer", "identified in the layer below", percent=True)
    return Exhibit(
        name=desk.exhibit,
        title=f"Identity across single layers, {pair_title(name)}",
        source=f"Brunner et al. (2020), {source}",
        explanation="How often a hidden token is found again among the hidden tokens of the layer "
        "below it, of the same sequence; for the first layer, among its input tokens.",
        pictures=[
            desk.picture(
                lines([panel]),
                f"Share of test tokens found again in the layer below, {pair_title(name)}.",
                spoken,
            )
        ],
        tables=[desk.table(frame, "By layer, in percent", formats=".1f")],
        comparisons=[],
        notes=[],
        files=desk.written,
    )


def _line(found: xarray.Dataset, loss: str, label: str, dashed: bool) -> Line:
    return Line(label, found["layer"].values + 1, _rates(found, loss), dashed=dashed)


def _rates(found: xarray.Dataset, loss: str) -> np.ndarray:
    return np.asarray(found["rate_mean"].sel(loss=loss).squeeze(drop=True).values).reshape(-1)
