"""Error rates of heads beside the norms of what they move (the version at EMNLP)."""

from collections.abc import Iterator

import numpy as np
import pandas
import xarray

from headlight.findings.estimates import Estimate, estimates
from headlight.views.parts import By, Comparison, Curve, Section, Table
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.alignment.results import (
    LABELS,
    STEPS,
    alignment_notes,
    load_attention,
)
from headlight_papers.papers.naming import frame_of, head_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter


@exhibit(
    "head-aer",
    "Error rates and mean norms of heads",
    "Kobayashi et al. (EMNLP 2020), Section 5",
    ("translator", "gold"),
)
def head_aer(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Whether a head that moves much links words well."""
    found = load_attention(reproduction)
    titles = {step: f"{name}: ρ = {spearman(found, step):.2f}" for step, name in STEPS.items()}
    said = [
        f"with {name} ρ = {spearman(found, step):.2f}, and layer {highest_layer(found)[0] + 1}, "
        f"which has the highest mean norm, an error rate of {highest_layer(found, step)[1]:.1%}"
        for step, name in STEPS.items()
    ]
    note = f"Over {_count(found)} heads, {'; '.join(said)}."
    return Section(
        explanation="Each dot is a head: the mean norm of what it moves, over all places of source "
        "and target, and the alignment error rate of its norms. Where ρ is negative, heads that "
        "move much link words well, and a layer or head can be chosen without gold links.",
        drawings=[
            writer.curves(
                found.sel(measure="norm"),
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
        tables=[_table(found, writer)],
        comparisons=list(_comparisons(found)),
        notes=[note, *alignment_notes(reproduction)],
    )


def spearman(found: xarray.Dataset, step: str) -> float:
    """Spearman's ρ between error rate and mean norm, over the heads that link anything."""
    frame = pandas.DataFrame(
        {
            "norm": found["head_mean_norm"].values.ravel(),
            "rate": found["head_error_rate"].sel(measure="norm", step=step).values.ravel(),
        }
    )
    ranks = frame.dropna().rank()
    return float(ranks["norm"].corr(ranks["rate"]))


def highest_layer(found: xarray.Dataset, step: str = "input") -> tuple[int, Estimate]:
    """The layer with the highest mean norm, from 0, and its error rate."""
    highest = int(found["mean_norm"].fillna(-np.inf).argmax("layer"))
    cell = found.sel(measure="norm", step=step).isel(layer=highest)
    return int(cell["layer"]), estimates(cell, "error_rate", ())


def highest_head(found: xarray.Dataset, step: str) -> tuple[str, Estimate]:
    """The head with the highest mean norm, by the paper's name, and its error rate."""
    place = found["head_mean_norm"].argmax(("layer", "head"))
    cell = found.sel(measure="norm", step=step).isel(place)
    return head_name(int(cell["layer"]), int(cell["head"])), estimates(cell, "head_error_rate", ())


def _count(found: xarray.Dataset) -> int:
    return int(found["head_mean_norm"].notnull().sum())


def _table(found: xarray.Dataset, writer: ExhibitWriter) -> Table:
    columns = {"mean norm": found["head_mean_norm"]}
    for step, name in STEPS.items():
        for measure, label in LABELS.items():
            cell = found["head_error_rate"].sel(measure=measure, step=step)
            columns[f"{label}, {name}"] = 100 * cell
    frame = frame_of(columns).sort_values("mean norm", ascending=False, ignore_index=True)
    return writer.table(
        frame[["head", *columns]],
        "All heads, those of the highest mean norm first: error rates in percent",
        formats={"mean norm": ".2f", **dict.fromkeys(list(columns)[1:], ".1f")},
    )


def _comparisons(found: xarray.Dataset) -> Iterator[Comparison]:
    five = "there five translators (EMNLP 2020)"
    for step, name in STEPS.items():
        yield Comparison(
            f"ρ of error rate and mean norm, {name}",
            published.HEAD_SPEARMAN[step],
            spearman(found, step),
            digits=2,
            note=five,
        )
    for step, name in STEPS.items():
        layer, rate = highest_layer(found, step)
        yield Comparison(
            f"AER of the layer of the highest mean norm, {name}",
            published.HIGHEST_NORM["layer", step],
            100 * float(rate.value),
            note=f"{five}, here layer {layer + 1}",
        )
    for step, name in STEPS.items():
        head, rate = highest_head(found, step)
        yield Comparison(
            f"AER of the head of the highest mean norm, {name}",
            published.HIGHEST_NORM["head", step],
            100 * float(rate.value),
            note=f"{five}, here head {head}",
        )
