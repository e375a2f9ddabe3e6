"""Table 1: F1 of the base and of adversaries."""

from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Comparison, Curve, Reference, Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers import yang2020 as published
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import OF_WHAT, notes_of
from headlight_papers.papers.yang2020.results import chosen_lambdas, frame_of, load_sweep

COLUMNS = {
    "f1": "F1",
    "f1_lenient": "F1, conlleval",
    "nll": "NLL gold",
    "agreement": "agreement",
    "tvd": "TVD",
    "kl": "KL row",
    "kl_cell": "KL entry",
    "jsd": "JSD",
}


@exhibit("table-1", "Table 1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of the base and of adversaries."""
    sweep = load_sweep(reproduction)
    rows = frame_of(sweep)
    frame = by_model(rows, float(sweep.attrs["row_length"]))
    base = mean_interval(rows[rows.kind == "base"].f1)
    small, large = chosen_lambdas(reproduction)
    compared = [Comparison("original", published.ORIGINAL_F1, base.mean, note=f"{base}", digits=3)]
    for paper, ours in ((0.2, small), (3.0, large)):
        mean = mean_interval(_adversaries(rows, ours).f1)
        note = f"{mean}; λ = {ours:g} here"
        compared.append(
            Comparison(
                f"adversary, λ = {paper:g}", published.ADVERSARY_F1[paper], mean.mean, "", note, 3
            )
        )
    axes: dict[str, Any] = {
        "over": "shown",
        "error": "half",
        "x_label": "λ, times the mean KL of a row",
        "y_label": "F1",
        "references": [Reference(base.mean, "base")],
        "marked": True,
        "logarithmic": True,
    }
    picture = writer.curves(
        _interval_by_lambda(rows),
        Curve("f1", "by λ", selection={"zero": False}, **axes),
        Curve("f1", "λ = 0, at the left end", selection={"zero": True}, joined=False, **axes),
        caption="F1 on the test part by λ; the band is a 95% interval over seeds.",
        alternative=f"F1 {frame['F1'].iloc[1]} at λ = 0, {frame['F1'].iloc[-2]} at the largest λ.",
    )
    return Section(
        explanation=f"{OF_WHAT} Other seed is the base of another seed beside each base; uniform "
        "is the base with uniform attention put in, for which it was not trained.",
        drawings=[picture],
        tables=[writer.table(frame, "Means over seeds on the test part")],
        comparisons=compared,
        notes=notes_of(reproduction),
    )


def by_model(rows: pandas.DataFrame, length: float) -> pandas.DataFrame:
    """Return a row for the base, for each λ, for another seed and for uniform attention."""
    parts = [("base", "", rows[rows.kind == "base"])]
    parts += [
        (f"λ = {weight:g}", f"{weight * length:.3g}", _adversaries(rows, weight))
        for weight in sorted(rows[rows.kind == "adversary"].weight.unique())
    ]
    parts += [
        ("other seed", "", rows[rows.kind == "seed"]),
        ("uniform", "", rows[rows.kind == "uniform"]),
    ]
    table = []
    for name, paper, some in parts:
        if len(some):
            numbers = {title: str(mean_interval(some[key])) for key, title in COLUMNS.items()}
            numbers = {
                key: "–" if text.startswith("nan") else text for key, text in numbers.items()
            }
            table.append({"model": name, "the paper's λ": paper, **numbers})
    return pandas.DataFrame(table)


def _interval_by_lambda(rows: pandas.DataFrame) -> xarray.Dataset:
    """Return F1 with half of its interval; 0, which a logarithmic axis has not, is at its left."""
    weights = np.array(sorted(rows[rows.kind == "adversary"].weight.unique()))
    intervals = [mean_interval(_adversaries(rows, weight).f1) for weight in weights]
    return xarray.Dataset(
        {
            "f1": ("weight", [interval.mean for interval in intervals]),
            "half": ("weight", [interval.half for interval in intervals]),
            "shown": ("weight", shown_weights(weights)),
            "zero": ("weight", weights == 0),
        }
    )


def shown_weights(weights: np.ndarray) -> np.ndarray:
    """Return the place of λ on a logarithmic axis: 0 half a decade below the smallest."""
    positive = weights[weights > 0]
    zero = positive.min() / 10**0.5 if len(positive) else 1.0
    return np.where(weights > 0, weights, zero)


def _adversaries(rows: pandas.DataFrame, weight: float) -> pandas.DataFrame:
    return rows[(rows.kind == "adversary") & (rows.weight == weight)]
