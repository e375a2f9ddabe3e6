"""The survey: what weights, norms and effective attention say about every head."""

import pandas as pd
import xarray as xr

from headlight.views.exhibits import Table
from headlight.views.parts import (
    By,
    Curve,
    Drawing,
    Section,
    Summary,
    categories,
    curves,
    mean_of,
    rounded,
)

NEIGHBOURS = {-1: "previous", 1: "next"}
OF_HEADS = {
    "vector_norm_mean": "‖f(x)‖",
    "vector_norm_cv": "CV of ‖f(x)‖",
    "effective_correlation_by_head": "A⊥ ~ α",
    "rank": "rank of T",
}


def summary(result: xr.Dataset) -> Summary:
    """What separators get by each measure, and the mean entropy of weights."""
    found: Summary = {}
    for measure in map(str, result["measure"].values):
        of_all = result.sel(measure=measure, query_category="all")
        found[f"{measure}_to_sep"] = mean_of(of_all["share"].sel(key_category="sep"))
        found[f"{measure}_entropy"] = mean_of(of_all["entropy"])
    if "vector_norm_cv" in result:
        found["vector_norm_cv"] = mean_of(result["vector_norm_cv"])
    if "effective_correlation_by_head" in result:
        found["effective_correlation"] = mean_of(result["effective_correlation_by_head"])
    return rounded(found)


def sections(result: xr.Dataset) -> list[Section]:
    """Shares by category, and entropies; the page of a survey shows more."""
    heads = _heads(result)
    layers = heads.groupby("layer", as_index=False).mean().drop(columns="head")
    shares = [name for name in heads.columns if name.endswith("%")]

    names = categories(result)
    of_all = result.sel(query_category="all", key_category=list(names))
    by = (By("key_category", names), "measure")
    draw = curves(of_all, Curve("share", panel="Share of {key_category}", by=by, percent=True))
    draw_entropy = curves(of_all, Curve("entropy", panel="Entropy in nats", by="measure"))

    return [
        Section(
            "shares",
            "Where attention goes",
            "The share of each category of tokens, by each measure.",
            "",
            [
                Drawing("shares", "", "Shares by layer and category.", draw),
                Drawing("entropy", "", "Entropies by layer.", draw_entropy),
            ],
            [
                Table("layers", "Means over heads", layers, dict.fromkeys(shares, ".1f")),
                Table("heads", "All heads", heads, dict.fromkeys(shares, ".1f")),
            ],
        )
    ]


def _heads(result: xr.Dataset) -> pd.DataFrame:
    """A row for each head."""
    columns: dict[str, xr.DataArray] = {}
    of_all = result.sel(query_category="all")
    names = categories(result)
    for measure in map(str, result["measure"].values):
        here = of_all.sel(measure=measure)
        for key, label in names.items():
            columns[f"{measure} {label} %"] = 100 * here["share"].sel(key_category=key)
        for offset, label in NEIGHBOURS.items():
            columns[f"{measure} {label} %"] = 100 * here["neighbour"].sel(offset=offset)
        columns[f"{measure} entropy"] = here["entropy"]
    columns |= {label: result[name] for name, label in OF_HEADS.items() if name in result}
    table = xr.Dataset({name: each.reset_coords(drop=True) for name, each in columns.items()})
    frame = table.to_dataframe(["layer", "head"])[list(columns)]
    # Without what was not observed, and the heads that a layer does not have.
    return frame.dropna(axis=0, how="all").dropna(axis=1, how="all").reset_index()
