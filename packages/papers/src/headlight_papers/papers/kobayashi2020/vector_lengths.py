"""Section 4.1, Appendices A and B: lengths of vectors (Tables 1, 4) and stretch by f (Figure 9)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.errors import UnsupportedModelError
from headlight.measures import singular_values_of
from headlight.views.parts import By, Comparison, Curve, Map, Section
from headlight.vocabulary import RANKS_WITHOUT_FILE
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, head_name
from headlight_papers.papers.kobayashi2020 import Settings, published
from headlight_papers.papers.reproduction import (
    Reproduction,
    model_note,
    text_notes,
    text_settings,
    text_source,
)

exhibit = exhibits_of(published.SOURCE)

LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". or ,",
    "other": "other tokens",
    "sink": "sinks",
}
BY = By("key_group", LABELS)
TOTALS = {"weight_total": "weight", "weighted_norm_total": "norm"}
"""Sums over the tokens of a kind, by the measure of which they are."""


def load_norms(reproduction: Reproduction) -> xarray.Dataset:
    """Weights and norms of the text, and their ranks, in one pass; with sums by kind of token."""
    text, ranks = text_source(reproduction), reproduction.sources.frequency_ranks or "corpus"
    reads = (text, [ranks] if ranks in RANKS_WITHOUT_FILE else ranks)
    settings = text_settings(reproduction)
    result = reproduction.run(
        "survey",
        text,
        name="norms",
        reads=reads,
        measures=("weight", "norm"),
        numbers=("ranks",),
        frequency_ranks=ranks,
        passages=False,
        token_types=0,
        **settings,
    )
    if "group_total" in result:
        totals = result["group_total"]
    else:  # no sinks were looked for
        totals = result["total"].sel(query_category="all", drop=True)
        totals = totals.rename(key_category="key_group")
    return result.assign({name: totals.sel(measure=of, drop=True) for name, of in TOTALS.items()})


def categories(result: xarray.Dataset) -> list[str]:
    """The categories of attended tokens that occur."""
    return [
        str(name)
        for name in result["key_group"].values
        if float(result["token_count"].sel(key_group=name)) > 0
    ]


STATISTICS = {"mean": "μ", "std": "σ", "cv": "CV", "max": "max", "min": "min"}
FORMATS = dict.fromkeys(STATISTICS.values(), ".2f")


@exhibit("table-1", "Table 1 and Section 4.1")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Dispersion of ‖f(x)‖."""
    result = load_norms(reproduction)
    frame = extremes(result, "vector_norm")
    return Section(
        explanation="If the transformed vectors of a head were all of one length (CV 0), its "
        "weights would tell what it moves. Mean, standard deviation and their ratio over all "
        "tokens of the text, special ones included; the average is one over heads.",
        drawings=[
            writer.maps(
                result,
                Map("vector_norm_cv", "CV of ‖f(x)‖", scale="norm"),
                caption="Coefficient of variation of ‖f(x)‖, head by head.",
                alternative=_alternative(frame),
            )
        ],
        tables=[
            writer.table(
                frame, "Heads of the largest and the smallest CV, and the average", formats=FORMATS
            )
        ],
        comparisons=_comparisons(frame, published.TABLE_1),
        notes=text_notes(reproduction, result),
    )


@exhibit("table-4", "Table 4 and Appendix A")
def table_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Dispersion of ‖x‖."""
    result = load_norms(reproduction)
    notes = text_notes(reproduction, result)
    explanation = (
        "The same for the vectors that a layer reads, before it transforms them: the first layer "
        "reads the embeddings."
    )
    if "input_norm_mean" not in result:
        missing = "It was not found what the values of this model are made from."
        return Section(explanation, notes=[*notes, missing])
    frame = extremes(result, "input_norm")
    return Section(
        explanation,
        drawings=[
            writer.curves(
                result,
                *(
                    Curve(f"{name}_cv", label, "Coefficient of variation", colour=colour)
                    for name, label, colour in (
                        ("vector_norm", "‖f(x)‖, heads", "norm"),
                        ("input_norm", "‖x‖", "weight"),
                    )
                ),
                caption="Coefficient of variation of what a layer reads and of what its heads make "
                "of it.",
                alternative=_alternative(frame),
            )
        ],
        tables=[
            writer.table(
                frame, "Layers of the largest and the smallest CV, and the average", formats=FORMATS
            )
        ],
        comparisons=_comparisons(frame, published.TABLE_4),
        notes=notes,
    )


def extremes(result: xarray.Dataset, name: str) -> pandas.DataFrame:
    """The rows of the paper's tables: largest CV, smallest CV, average."""
    every = frame_of({symbol: result[f"{name}_{key}"] for key, symbol in STATISTICS.items()})
    every.insert(0, "name", every["head" if "head" in every else "layer"].astype(str))
    chosen = every.loc[[every["CV"].idxmax(), every["CV"].idxmin()], ["name", *FORMATS]]
    average = every[["μ", "σ", "CV"]].mean().to_frame().T.assign(name="")
    frame = pandas.concat([chosen, average], ignore_index=True)
    frame.insert(0, "which", ["largest CV", "smallest CV", "average"])
    return frame


def _comparisons(
    frame: pandas.DataFrame, rows: Mapping[str, tuple[str, published.Dispersion]]
) -> list[Comparison]:
    ours = {str(row["which"]): row for row in frame.to_dict("records")}
    compared = []
    for label, (name, numbers) in rows.items():
        note = f"there {name}, here {ours[label]['name']}" if name else ""
        printed = {"CV": numbers.variation, "μ": numbers.mean, "σ": numbers.deviation}
        compared += [
            Comparison(f"{label}: {symbol}", number, float(ours[label][symbol]), "", note, digits=2)
            for symbol, number in printed.items()
        ]
    return compared


def _alternative(frame: pandas.DataFrame) -> str:
    return "; ".join(
        f"{row['which']} {row['name']}: CV {row['CV']:.2f}" for row in frame.to_dict("records")
    )


@exhibit("figure-9", "Figure 9 and Appendices A and B")
def figure_9(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Singular values of f."""
    explanation = (
        "f is affine; with a 1 appended to the vectors it is linear, and its singular values say "
        "how much it stretches vectors of different directions. One head of each layer, drawn at "
        "random (seeded); all heads are in the table."
    )
    try:
        result = load_singular_values(reproduction)
    except UnsupportedModelError as reason:
        return Section(explanation, notes=[str(reason)])
    values, ratio = result["singular_value"], result["ratio"]
    generator = np.random.default_rng(reproduction.settings.seed)
    chosen = {
        int(layer): int(generator.integers(np.isfinite(values.sel(layer=layer, index=0)).sum()))
        for layer in values["layer"].values
    }
    drawn = xarray.concat(
        [values.sel(layer=layer, head=head, drop=True) for layer, head in chosen.items()],
        pandas.Index(map(head_name, chosen, chosen.values()), name="chosen"),
    )
    frame = frame_of(
        {"largest": values.max("index"), "smallest": values.min("index"), "ratio": ratio}
    ).dropna()
    smallest = float(ratio.min())
    return Section(
        explanation,
        drawings=[
            writer.curves(
                drawn.assign_coords(index=drawn["index"] + 1).to_dataset(name="singular_value"),
                Curve(
                    "singular_value",
                    by="chosen",
                    over="index",
                    x_label="number",
                    y_label="singular value",
                ),
                caption="Singular values in descending order, one head of each layer.",
                alternative=f"The largest is at least {smallest:.1f} times the smallest, in every "
                "head.",
            )
        ],
        tables=[writer.table(frame, "All heads", formats=".2f")],
        comparisons=[
            Comparison(
                "ratio of the largest to the smallest, at least",
                published.FIGURE_9,
                smallest,
                note="there in randomly chosen heads, here in all",
            )
        ],
        notes=[
            model_note(reproduction),
            "The d' + 1 singular values of a head that are not zero by construction, d' being the "
            "size of a head; the appended 1 is one of its dimensions.",
        ],
    )


def load_singular_values(reproduction: Reproduction) -> xarray.Dataset:
    """All singular values of all heads; a layer with fewer heads or smaller ones is filled up."""
    sites = reproduction.model.sites_of(reproduction.kind)

    def make(_: Path) -> xarray.Dataset:
        values_by_layer = [singular_values_of(reproduction.model, site).numpy() for site in sites]
        heads, size = (max(one.shape[axis] for one in values_by_layer) for axis in (0, 1))
        values = np.full((len(values_by_layer), heads, size), np.nan)
        for layer, one in enumerate(values_by_layer):
            values[layer, : one.shape[0], : one.shape[1]] = one
        with np.errstate(divide="ignore"):
            ratio = np.fmax.reduce(values, axis=2) / np.fmin.reduce(values, axis=2)
        return xarray.Dataset(
            {
                "singular_value": (("layer", "head", "index"), values),
                "ratio": (("layer", "head"), ratio),
            },
            coords={
                "layer": [site.layer for site in sites],
                "head": np.arange(heads),
                "index": np.arange(size),
            },
        )

    return reproduction.keep("singular", "singular", make, kind=reproduction.kind)
