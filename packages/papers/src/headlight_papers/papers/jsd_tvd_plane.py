"""Models as points of a plane: attention moved against predictions moved."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Curve, Reference

LINE = "line"
"""The kind of the rows that a line goes through."""
PLANE: dict[str, Any] = {
    "x_label": "TVD to the base's predictions",
    "y_label": "JSD to the base's attention",
    "references": [Reference(float(np.log(2)), "ln 2")],
}
"""Labels and reference of the plane of Wiegreffe and Pinter (2019), Figure 5."""


def with_line(
    rows: pandas.DataFrame, middle: str, by: Sequence[str] = (), of: Sequence[str] = ("tvd", "jsd")
) -> xarray.Dataset:
    """Models, and of the adversaries of each λ a middle, in the order of λ.

    Args:
        rows: a model each, with its ``kind`` and ``weight``.
        middle: ``median`` or ``mean``.
        by: columns that tell tasks apart.
        of: columns of what is drawn.
    """
    groups = rows[rows.kind == "adversary"].groupby([*by, "weight"])[list(of)]
    line = groups.agg(middle).reset_index().assign(kind=LINE)
    return pandas.concat([rows, line], ignore_index=True).to_xarray()


def points(
    kinds: Mapping[str, str],
    panel: str = "",
    of: Mapping[str, Hashable] | None = None,
    *,
    x: str = "tvd",
    y: str = "jsd",
    **axes: Any,
) -> Iterator[Curve]:
    """A point for each model, and the line; it has markers where adversaries are not shown.

    Args:
        kinds: what each is called, in the order of the legend.
        panel: its title.
        of: what tells its models from those of other panels.
        x: the column of the horizontal axis.
        y: that of the vertical one.
        axes: their names and lines; see `Curve`.
    """
    for kind, name in kinds.items():
        marked, chosen = kind != LINE or "adversary" not in kinds, {**(of or {}), "kind": kind}
        yield Curve(y, name, panel, over=x, of=chosen, marked=marked, joined=kind == LINE, **axes)
