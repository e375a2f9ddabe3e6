"""Lengths of vectors: their section, and their table."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import name_of, observed
from headlight.studies.survey.page.shares import has_numbers
from headlight.views.parts import Curve, Drawing, Section, Table, curves
from headlight.views.parts.result_facts import mean_of


def dispersion_section(result: xr.Dataset) -> Section:
    """Return the coefficients of variation of lengths by layer."""
    title = "Coefficient of variation"
    candidates = [
        Curve("vector_norm_cv", "‖f(x)‖, each head", title, colour="norm"),
        Curve("input_norm_cv", "‖x‖, input of the layer", title, colour="weight"),
    ]
    present = [curve for curve in candidates if has_numbers(result, curve.variable)]
    draw = curves(result, *present)
    return Section(
        "dispersion",
        "How much do the transformed vectors differ in length?",
        "f(x) is the vector that a head would move from a token at weight 1, ‖f(x)‖ its length, "
        "and CV the standard deviation of lengths over their mean. If all were alike (CV near 0), "
        "weights alone would tell what is moved; the more they vary, the more the norm corrects "
        "the weight.",
        "Kobayashi et al. (2020), Tables 1 and 4",
        [Drawing("dispersion", "", "Lengths of vectors by layer.", draw)] if present else [],
    )


def lengths_table(result: xr.Dataset) -> Table | None:
    """Return mean, σ and CV of ‖f(x)‖ and ‖x‖ (Kobayashi et al. 2020, Tables 1 and 4)."""
    rows = []
    for label, name, dims in (
        ("‖f(x)‖, over heads", "vector_norm", ("layer", "head")),
        ("‖x‖, over layers", "input_norm", ("layer",)),
    ):
        numbers = {end: observed(result, f"{name}_{end}", dims) for end in ("mean", "std", "cv")}
        if not np.isfinite(numbers["cv"]).any():
            continue
        ends = (observed(result, f"{name}_max", dims), observed(result, f"{name}_min", dims))
        rows.append(
            {
                "vector": label,
                "mean": mean_of(numbers["mean"]),
                "σ": mean_of(numbers["std"]),
                "CV": mean_of(numbers["cv"]),
                "largest CV": float(np.nanmax(numbers["cv"])),
                "largest in": _where(result, int(np.nanargmax(numbers["cv"])), dims),
                "smallest CV": float(np.nanmin(numbers["cv"])),
                "smallest in": _where(result, int(np.nanargmin(numbers["cv"])), dims),
                "longest": float(np.nanmax(ends[0], initial=-np.inf)),
                "shortest": float(np.nanmin(ends[1], initial=np.inf)),
            }
        )
    return Table("dispersion", "Dispersion of vector lengths", pd.DataFrame(rows)) if rows else None


def _where(result: xr.Dataset, place: int, dims: tuple[str, ...]) -> str:
    row, *head = map(int, np.unravel_index(place, tuple(result.sizes[dim] for dim in dims)))
    return name_of(result, int(result["layer"].values[row]), *head)
