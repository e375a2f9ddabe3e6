"""Figure 7: alignment error rates by layer."""

from collections.abc import Iterator

import pandas
import xarray

from headlight.views.parts import By, Comparison, Curve, Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.translator_results import (
    LABELS,
    STEPS,
    alignment_notes,
    best_layer,
    load_attention,
    rates_by_method,
)
from headlight_papers.papers.reproduction import Reproduction

MEASURES = ("weight", "norm")
MEASURE = By("measure", LABELS)
TITLES = {
    "input": "AWI: the step that reads the word",
    "output": "AWO: the step that predicts the word",
}


@exhibit("figure-7", "Figure 7 and Section 5", "translator", "gold")
def figure_7(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Alignment error rates by layer."""
    result = load_attention(reproduction)
    best = [
        f"{LABELS[measure]}, {name}: layer {layer + 1}, {rate:.1%}"
        for step, name in STEPS.items()
        for measure in MEASURES
        for layer, rate in [best_layer(result, measure, step)]
    ]
    note = f"Best layers, AER in percent with its interval: {'; '.join(best)}."
    rates = pandas.DataFrame(published.FIGURE_7) / 100
    rates.index += 1
    first = xarray.DataArray(rates, dims=("published_layer", "measure"))
    first = first.reindex(measure=result["measure"])  # of as many layers as the paper has
    return Section(
        explanation="The alignment error rate of each layer of cross-attention, by the mean weight "
        "of its heads and by the norm of what they move together; bands are intervals of 95%. "
        "Dashed: the paper's first version, drawn beside AWI, where later runs of its authors have "
        "the same course; it does not say itself which step it means.",
        drawings=[
            writer.curves(
                result.assign(published=first).sel(measure=list(MEASURES)),
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
            writer.table(
                frame_of(rates_by_method(result, "error_rate")),
                "Alignment error rates in percent, by layer",
                formats=".1f",
            )
        ],
        comparisons=list(_comparisons(result)),
        notes=[note, *alignment_notes(reproduction)],
    )


def _comparisons(result: xarray.Dataset) -> Iterator[Comparison]:
    for measure, numbers in published.FIGURE_7.items():
        note = f"ours: AWI; {result.sizes['layer']} layers here"
        ours = 100 * result["error_rate"].sel(measure=measure, step="input").values
        for layer in range(max(len(numbers), len(ours))):
            theirs, here = (
                float(values[layer]) if layer < len(values) else None for values in (numbers, ours)
            )
            yield Comparison(f"{LABELS[measure]}, layer {layer + 1}", theirs, here, note=note)
