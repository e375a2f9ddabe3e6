"""Descriptions of a result for its pages: settings, categories, and numbers of its summary."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings import category_label, occurs
from headlight.views.parts.section import Summary
from headlight.views.pictures import LinkDrawing

ATTENDING_ROWS = {"all": "all tokens", "first": "the first token", "last": "the last token"}


def settings_of(result: xr.Dataset) -> dict[str, Any]:
    """The settings of the run that made a result; none where it says nothing of them."""
    return dict(json.loads(str(result.attrs.get("settings", "{}"))))


def attending_rows(result: xr.Dataset) -> str:
    """Return the tokens whose rows of attention were changed, in words."""
    return ATTENDING_ROWS[settings_of(result).get("rows", "all")]


def categories(result: xr.Dataset, dim: str = "key_category") -> dict[str, str]:
    """The categories along a dimension, with the names that the tokenizer gives them.

    Categories of attended tokens of which there is no token are left out.
    """
    attending = dim == "query_category"
    return {
        name: category_label(result, name, attending=attending)
        for name in map(str, result[dim].values)
        if attending or occurs(result, name)
    }


def mean_of(values: xr.DataArray | NDArray[Any]) -> float:
    """The mean of the finite numbers; NaN if there are none."""
    seen = np.asarray(values, dtype=np.float64)
    seen = seen[np.isfinite(seen)]
    return float(seen.mean()) if seen.size else float("nan")


def rounded(summary: Mapping[str, float | int | str]) -> Summary:
    """A summary without the numbers that are missing."""
    return {
        name: value
        for name, value in summary.items()
        if not isinstance(value, float) or np.isfinite(value)
    }


def sentence_links(here: xr.Dataset, title: str, note: str) -> LinkDrawing | None:
    """The sentence that a result keeps, as lines from words to what a head says of them.

    Those that are right are red; None where there is no sentence.

    Args:
        here: The result, of one measure and one of what was asked.
        title: Over the drawing.
        note: Under the title.
    """
    if "sentence_word" not in here:
        return None
    words = [str(word) for word in here["sentence_word"].values if word]
    if not words:
        return None
    found, right = (here[f"sentence_{name}"].values for name in ("found", "right"))
    asked = np.flatnonzero(found >= 0)
    weights = np.zeros((len(words), len(words)))
    weights[asked, found[asked].astype(int)] = 1
    links = [(int(word), int(found[word])) for word in asked if right[word]]
    return LinkDrawing(title, words, words, weights, [note], links=links, darkest=1.0)
