"""The result of a study of how far measures agree."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.reduce import Tally
from headlight.result import describe
from headlight.studies.agreement.observer import EDGES, STATISTICS

_MEANINGS = {
    "tau": "Kendall's τ of two measures, mean over texts",
    "significant": "share of texts whose τ is significant at 0.05",
    "overlap": "share of the most important words that both measures name, mean over texts",
}
_OTHERS = {
    "tau_deviation": ("standard deviation of τ over texts", "1"),
    "undefined": ("texts without a τ: of one word, or all words alike", "count"),
    "texts": ("texts", "count"),
    "histogram": ("texts by their τ", "count"),
}
_WHERE = {"": "", "answer_": ", by the class of the answer"}
_BOUNDS = {"": "", "_low": "lower end of the 95% interval of the ", "_high": "upper end of the 95% "
           "interval of the "}  # fmt: skip

VARIABLES = {
    f"{where}{name}{bound}": (f"{said}{meaning}{of}", "1")
    for where, of in _WHERE.items()
    for name, meaning in _MEANINGS.items()
    for bound, said in _BOUNDS.items()
} | {
    f"{where}{name}": (f"{meaning}{of}", unit)
    for where, of in _WHERE.items()
    for name, (meaning, unit) in _OTHERS.items()
}
"""Long name and unit of every variable."""

Pairs = Float64[np.ndarray, "group pair *_"]


def dataset(tally: Tally, compared: Sequence[str], classes: Sequence[str]) -> xarray.Dataset:
    """Named arrays of what was seen.

    Args:
        tally: of all texts.
        compared: the measures.
        classes: the names of the classes.
    """
    found = tally.compute()
    values: dict[str, Pairs] = {}
    for bound, statistic in {"": "mean", "_low": "low", "_high": "high"}.items():
        rows = {name: found["agreement"][statistic][:, at] for at, name in enumerate(STATISTICS)}
        values |= {f"{name}{bound}": rows[name] for name in _MEANINGS}
        if not bound:
            spread = rows["square"] - rows["tau"] ** 2
            values["tau_deviation"] = np.sqrt(spread.clip(0))
    missing = STATISTICS.index("missing")
    share, number = (found["agreement"][name][:, missing] for name in ("mean", "count"))
    values["undefined"] = np.round(np.nan_to_num(share) * number)
    values["histogram"] = found["histogram"]["counts"]
    texts = number[:, 0]
    variables: dict[str, Any] = {"texts": ((), texts[0]), "answer_texts": ("answer", texts[1:])}
    axes = ("measure", "other")
    for name, cells in values.items():
        rest = ("bin",) if name == "histogram" else ()
        square = _square(cells, len(compared))
        variables[name] = ((*axes, *rest), square[0])
        variables[f"answer_{name}"] = (("answer", *axes, *rest), square[1:])
    coordinates = {
        "measure": list(compared),
        "other": list(compared),
        "answer": list(classes),
        "bin": np.convolve(EDGES, [0.5, 0.5], "valid"),
    }
    made = xarray.Dataset(variables, coords=coordinates)
    return describe(made, {name: VARIABLES[name] for name in variables})


def _square(cells: Pairs, size: int) -> Float64[np.ndarray, "group measure other *_"]:
    """Pairs as a symmetric matrix, NaN where a measure meets itself."""
    found = np.full((len(cells), size, size, *cells.shape[2:]), np.nan)
    for at, (first, second) in enumerate(combinations(range(size), 2)):
        found[:, first, second] = found[:, second, first] = cells[:, at]
    return found
