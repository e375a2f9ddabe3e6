"""Error rates by layer (Figure 7)."""

from collections.abc import Iterator, Sequence

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.alignment.results import (
    LABELS,
    STEPS,
    alignment_notes,
    best_layer,
    load_attention,
)
from headlight_papers.papers.naming import layer_names
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter

MEASURES = ("weight", "norm")
MEASURE = By("measure", LABELS)
TITLES = {
    "input": "AWI: the step that reads the word",
    "output": "AWO: the step that predicts the word",
}


@exhibit(
    "figure-7",
    "Alignment error rates by layer",
    "Kobayashi et al. (2020), Figure 7 and Section 5",
    ("translator", "gold"),
)
def figure_7(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Weights against norms, layer by layer."""
    found = load_attention(reproduction)
    best = [
        f"{LABELS[measure]}, {name}: layer {layer + 1}, {rate:.1%}"
        for step, name in STEPS.items()
        for measure in MEASURES
        for layer, rate in [best_layer(found, measure, step)]
    ]
    note = f"Best layers, AER in percent with its interval: {'; '.join(best)}."
    return Section(
        explanation="The alignment error rate of each layer of cross-attention, by the mean weight "
        "of its heads and by the norm of what they move together; bands are intervals of 95%. "
        "Dashed: the paper's first version, drawn beside AWI, where later runs of its authors have "
        "the same course; it does not say itself which step it means.",
        drawings=[
            writer.curves(
                _with_published(found).sel(measure=list(MEASURES)),
                Curve(
                    "error_rate",
                    panel="{step}",
                    by=(By("step", TITLES), MEASURE),
                    interval=True,
                    percent=True,
                    y_label="AER",
                    marked=True,
                ),
                Curve(
                    "published",
                    "{measure}, published",
                    TITLES["input"],
                    by=MEASURE,
                    over="published_layer",
                    dashed=True,
                ),
                caption="Error rates of weights and norms.",
                alternative=note,
                columns=2,
            )
        ],
        tables=[
            writer.table(_frame(found), "Alignment error rates in percent, by layer", formats=".1f")
        ],
        comparisons=list(_comparisons(found)),
        notes=[note, *alignment_notes(reproduction)],
    )


def _with_published(found: xarray.Dataset) -> xarray.Dataset:
    """With the rates of the paper's first version, of as many layers as it has."""
    rates = pandas.DataFrame(published.FIGURE_7) / 100
    rates.index += 1
    there = xarray.DataArray(rates, dims=("published_layer", "measure"))
    return found.assign(published=there.reindex(measure=found["measure"]))


def _frame(found: xarray.Dataset) -> pandas.DataFrame:
    columns: dict[str, Sequence[object]] = {"layer": layer_names(found)}
    for step, name in STEPS.items():
        for measure, label in LABELS.items():
            cell = found["error_rate"].sel(measure=measure, step=step)
            columns[f"{label}, {name}"] = list(100 * cell.values)
    return pandas.DataFrame(columns)


def _comparisons(found: xarray.Dataset) -> Iterator[Comparison]:
    for measure, numbers in published.FIGURE_7.items():
        note = f"ours: AWI; {found.sizes['layer']} layers here"
        ours = 100 * found["error_rate"].sel(measure=measure, step="input").values
        for layer in range(max(len(numbers), len(ours))):
            there, here = (
                float(each[layer]) if layer < len(each) else None for each in (numbers, ours)
            )
            yield Comparison(f"{LABELS[measure]}, layer {layer + 1}", there, here, note=note)
