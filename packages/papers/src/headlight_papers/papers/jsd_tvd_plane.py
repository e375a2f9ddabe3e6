"""Models as points of a plane: attention moved against predictions moved."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Curve, Reference

LINE = "line"
"""Kind of the rows that a line connects."""
PLANE: dict[str, Any] = {
    "x_label": "TVD to the base's predictions",
    "y_label": "JSD to the base's attention",
    "references": [Reference(float(np.log(2)), "ln 2")],
}
"""Labels and reference of the plane of Wiegreffe and Pinter (2019), Figure 5."""


def with_line(
    rows: pandas.DataFrame,
    middle: str,
    by: Sequence[str] = (),
    numbers: Sequence[str] = ("tvd", "jsd"),
) -> xarray.Dataset:
    """Return all models, and a median or mean of the adversaries of each λ, in the order of λ.

    Args:
        rows: One row for each model, with its ``kind`` and ``weight``.
        middle: Name of the average, ``median`` or ``mean``.
        by: Columns that tell tasks apart.
        numbers: Columns of the drawn numbers.
    """
    groups = rows[rows.kind == "adversary"].groupby([*by, "weight"])[list(numbers)]
    line = groups.agg(middle).reset_index().assign(kind=LINE)
    return pandas.concat([rows, line], ignore_index=True).to_xarray()


def points(
    kinds: Mapping[str, str],
    panel: str = "",
    fixed: Mapping[str, Hashable] | None = None,
    *,
    x: str = "tvd",
    y: str = "jsd",
    **axes: Any,
) -> Iterator[Curve]:
    """Yield a point for each model, and the line, with markers where adversaries are not shown.

    Args:
        kinds: Printed name of each kind, in the order of the legend.
        panel: Title of the panel.
        fixed: Labels that select the models of the panel.
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        axes: Names and lines of the axes; see `Curve`.
    """
    for kind, name in kinds.items():
        marked, chosen = kind != LINE or "adversary" not in kinds, {**(fixed or {}), "kind": kind}
        yield Curve(
            y, name, panel, over=x, selection=chosen, marked=marked, joined=kind == LINE, **axes
        )
