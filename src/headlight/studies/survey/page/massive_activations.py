"""Section on how large the residual stream gets."""

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import observed, pieces_of
from headlight.views.parts import Curve, Drawing, Section, Table, curves
from headlight.vocabulary import MASSIVE, MASSIVE_RATIO

COLUMNS = {
    "residual_max": ("largest entry", 1, ".1f"),
    "residual_ratio": ("times the median", 1, ".0f"),
    "residual_massive": ("texts with a massive one %", 100, ".0f"),
    "residual_length": ("first token, times the median length", 1, ".1f"),
    "residual_highest": ("highest of the corpus", 1, ".1f"),
    "residual_dimension": ("dimension", 1, ".0f"),
    "residual_place": ("place", 1, ".0f"),
}


def residual_section(result: xr.Dataset) -> Section:
    """Return the section on the size of the residual stream; empty where that is not known."""
    if not np.isfinite(observed(result, "residual_max", ("layer",))).any():
        return Section("residual", "", "")
    any_massive = bool((observed(result, "residual_massive", ("layer",)) > 0).any())
    residual_curves = (
        Curve("residual_max", panel="Largest entry of a text, mean"),
        Curve("residual_length", panel="First token, times the median length"),
    )
    columns: dict[str, object] = {"layer": result["layer"].values}
    columns |= {
        label: factor * observed(result, name, ("layer",))
        for name, (label, factor, _) in COLUMNS.items()
    }
    if "residual_token" in result:
        columns["token"] = [piece.label for piece in pieces_of(result, "residual_token")]
    formats = {label: format for label, _, format in COLUMNS.values()}
    return Section(
        "residual",
        "How large does the residual stream get?",
        "The input of each block, before normalization. An entry is massive if it is above "
        f"{MASSIVE} in size and at least {MASSIVE_RATIO:,} times the median entry of the text: few "
        "dimensions of few tokens, mostly the first, which heads then attend to.",
        "Sun et al. (2024), Section 2",
        [Drawing("residual", "", "Sizes by layer.", curves(result, *residual_curves))]
        * any_massive,
        [Table("residual", "Largest entries, by layer", pd.DataFrame(columns), formats)],
    )
