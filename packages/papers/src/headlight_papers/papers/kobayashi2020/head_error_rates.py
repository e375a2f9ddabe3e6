"""Alignment error rates of heads, beside their mean norms."""

from collections.abc import Iterator

import numpy as np
import pandas
import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.views.parts import By, Comparison, Curve, Section, Table
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.translator_results import (
    STEPS,
    alignment_notes,
    load_attention,
    rates_by_method,
)
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction


@exhibit("head-aer", "Section 5 of the version at EMNLP", "translator", "gold")
def head_aer(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Error rates and mean norms of heads."""
    result = load_attention(reproduction)
    titles = {step: f"{name}: ρ = {spearman(result, step):.2f}" for step, name in STEPS.items()}
    summaries = [
        f"with {name} ρ = {spearman(result, step):.2f}, and layer {highest_layer(result)[0] + 1}, "
        f"which has the highest mean norm, an error rate of {highest_layer(result, step)[1]:.1%}"
        for step, name in STEPS.items()
    ]
    note = f"Over {int(result['head_mean_norm'].notnull().sum())} heads, {'; '.join(summaries)}."
    return Section(
        explanation="Each dot is a head: the mean norm of what it moves, over all places of source "
        "and target, and the alignment error rate of its norms. Where ρ is negative, heads that "
        "move much link words well, and a layer or head can be chosen without gold links.",
        drawings=[
            writer.curves(
                result.sel(measure="norm"),
                Curve(
                    "head_error_rate",
                    "layer {layer}",
                    "{step}",
                    by=(By("step", titles), "layer"),
                    over="head_mean_norm",
                    x_label="mean ‖αf(x)‖",
                    y_label="AER",
                    percent=True,
                    ordered=True,
                    joined=False,
                ),
                caption="All heads, by layer.",
                alternative=note,
                columns=2,
            )
        ],
        tables=[_table(result, writer)],
        comparisons=list(_comparisons(result)),
        notes=[note, *alignment_notes(reproduction)],
    )


def spearman(result: xarray.Dataset, step: str) -> float:
    """Compute Spearman's ρ between error rate and mean norm, over the heads that link anything."""
    frame = pandas.DataFrame(
        {
            "norm": result["head_mean_norm"].values.ravel(),
            "rate": result["head_error_rate"].sel(measure="norm", step=step).values.ravel(),
        }
    )
    # Heads that link nothing have no rate, and would share the worst rank.
    ranks = frame.dropna().rank()
    return float(ranks["norm"].corr(ranks["rate"]))


def highest_layer(result: xarray.Dataset, step: str = "input") -> tuple[int, Estimate]:
    """Return the layer with the highest mean norm, from 0, and its error rate."""
    # A layer without norms is never the highest.
    highest = int(result["mean_norm"].fillna(-np.inf).argmax("layer"))
    cell = result.sel(measure="norm", step=step).isel(layer=highest)
    return int(cell["layer"]), estimates(cell, "error_rate", ())


def highest_head(result: xarray.Dataset, step: str) -> tuple[str, Estimate]:
    """Return the head with the highest mean norm, by the paper's name, and its error rate."""
    place = result["head_mean_norm"].argmax(("layer", "head"))
    cell = result.sel(measure="norm", step=step).isel(place)
    return head_name(int(cell["layer"]), int(cell["head"])), estimates(cell, "head_error_rate", ())


def _table(result: xarray.Dataset, writer: ExhibitWriter) -> Table:
    rates = rates_by_method(result, "head_error_rate")
    columns = {"mean norm": result["head_mean_norm"], **rates}
    frame = frame_of(columns).sort_values("mean norm", ascending=False, ignore_index=True)
    return writer.table(
        frame[["head", *columns]],
        "All heads, those of the highest mean norm first: error rates in percent",
        formats={"mean norm": ".2f", **dict.fromkeys(rates, ".1f")},
    )


def _comparisons(result: xarray.Dataset) -> Iterator[Comparison]:
    five = "there five translators (EMNLP 2020)"
    for step, name in STEPS.items():
        yield Comparison(
            f"ρ of error rate and mean norm, {name}",
            published.HEAD_SPEARMAN[step],
            spearman(result, step),
            digits=2,
            note=five,
        )
    for kind in ("layer", "head"):
        for step, name in STEPS.items():
            layer, of_layer = highest_layer(result, step)
            head, of_head = highest_head(result, step)
            place, rate = (layer + 1, of_layer) if kind == "layer" else (head, of_head)
            yield Comparison(
                f"AER of the {kind} of the highest mean norm, {name}",
                published.HIGHEST_NORM[kind, step],
                100 * float(rate.value),
                note=f"{five}, here {kind} {place}",
            )
