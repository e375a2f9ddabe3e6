"""Facts of a result that several parts of its page need: settings, token categories, means."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings import category_label, occurs
from headlight.views.parts.section import Summary

ATTENDING_ROWS = {"all": "all tokens", "first": "the first token", "last": "the last token"}


def settings_of(result: xr.Dataset) -> dict[str, Any]:
    """Return the settings of the run that made a result; none where it stores none."""
    return dict(json.loads(str(result.attrs.get("settings", "{}"))))


def attending_rows(result: xr.Dataset) -> str:
    """Return the tokens whose rows of attention were changed, in words."""
    return ATTENDING_ROWS[settings_of(result).get("rows", "all")]


def categories(result: xr.Dataset, dim: str = "key_category") -> dict[str, str]:
    """Return the categories along a dimension, with the names that the tokenizer gives them.

    Categories of attended tokens of which there is no token are left out.
    """
    attending = dim == "query_category"
    return {
        name: category_label(result, name, attending=attending)
        for name in map(str, result[dim].values)
        if attending or occurs(result, name)
    }


def mean_of(values: xr.DataArray | NDArray[Any]) -> float:
    """Return the mean of the finite numbers; NaN if there are none."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    return float(finite.mean()) if finite.size else float("nan")


def rounded(summary: Mapping[str, float | int | str]) -> Summary:
    """Return a summary without missing numbers."""
    return {
        name: value
        for name, value in summary.items()
        if not isinstance(value, float) or np.isfinite(value)
    }
