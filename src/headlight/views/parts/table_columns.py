"""Tables of the variables of a result, by columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr

from headlight.result.estimate import with_ends
from headlight.views.dimensions import By, ByWhich, as_dimensions, cells, template_of
from headlight.views.parts.section import Table

ENDS = ("low", "high")
"""Ends of an interval: names of its columns, and suffixes of its variables."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Variable in a table: a column, or one for each label of a dimension.

    The mean is shown over layers, heads and seeds that the rows do not tell apart.

    Attributes:
        variable: Variable of the result.
        format: Python format, e.g. ``.3f`` or ``.1%``.
        label: Label of the column; by default the variable's long name. With `by`,
            ``{dimension}`` stands for the name of a label, which is the default.
        by: Dimensions whose labels have a column each.
        interval: Whether the ends of its interval of 95% follow; their columns are called
            as given, else ``low`` and ``high``, or ``LABEL, low`` and ``LABEL, high`` where
            several columns of the table have an interval.
        whole: Whether the numbers are whole.
    """

    variable: str
    format: str = ""
    label: str = ""
    by: ByWhich = ()
    interval: bool | tuple[str, str] = False
    whole: bool = False

    def in_scope(self, scope: str) -> "Columns":
        """Return these columns for the variable that begins with a scope, such as ``layer_``."""
        return replace(self, variable=f"{scope}{self.variable}")


def columns(
    name: str,
    caption: str,
    result: xr.Dataset,
    rows: ByWhich,
    *specs: Columns,
) -> Table:
    """Return a table with a row for each label of a dimension, or for each combination of several.

    Combinations at which nothing was observed, such as heads that a layer does not have, are left
    out.

    Args:
        name: Name of the table.
        caption: Caption of the table.
        result: Result whose variables it shows; a part of it may be chosen with ``sel``.
        rows: Dimensions that the rows tell apart; those with an empty heading have no column of
            labels.
        specs: Columns after those of the labels.

    Raises:
        UsageError: The result has no such variable, it has a dimension that nothing chooses, or two
            columns have the same label.
    """
    across = as_dimensions(rows)
    index = [dimension.labels(result) for dimension in across]
    product = pd.MultiIndex.from_product(index) if index else pd.MultiIndex.from_tuples([()])
    frame = pd.DataFrame(
        {
            dimension.called: product.get_level_values(level)
            for level, dimension in enumerate(across)
            if dimension.called
        },
        index=range(len(product)),
    )
    formats = {dimension.called: dimension.format for dimension in across if dimension.format}
    several = sum(_count(result, spec.by) for spec in specs if spec.interval is True) > 1
    labels, values = [], []
    for spec in specs:
        for label, column in _values(result, across, spec, several):
            labels.append(label)
            values.append(column.astype(np.int64) if spec.whole else column)
            if spec.format:
                formats[label] = spec.format
    # Labels are set last: as keys, two equal ones would be one, and `Table` could not refuse them.
    numbers = pd.DataFrame(dict(enumerate(values)), index=frame.index).set_axis(labels, axis=1)
    frame = pd.concat([frame, numbers], axis=1)
    if len(across) > 1:
        frame = frame[numbers.notna().any(axis=1)].reset_index(drop=True)
    return Table(name, caption, frame, formats)


def _count(result: xr.Dataset, by: ByWhich) -> int:
    return math.prod(result.sizes[dimension.dim] for dimension in as_dimensions(by))


def _values(
    result: xr.Dataset, rows: tuple[By, ...], spec: Columns, several: bool
) -> Sequence[tuple[str, np.ndarray]]:
    """Return names and values of the columns; of several intervals the ends bear their name."""
    by, dims = as_dimensions(spec.by), [row.dim for row in rows]
    sizes = {dim: result.sizes[dim] for dim in dims}
    template = template_of(spec.label, by, result, spec.variable)
    names = [spec.variable]
    labels = [template]
    if spec.interval:
        result = with_ends(result, spec.variable, {*dims, *(dimension.dim for dimension in by)})
        names += [f"{spec.variable}_{end}" for end in ENDS]
        ends = [f"{template}, {end}" for end in ENDS] if several else ENDS
        labels += spec.interval if isinstance(spec.interval, tuple) else ends
    parts = [list(cells(result, name, by, dims)) for name in names]
    return [
        (cell.said(label), _along(cell.values, sizes))
        for same in zip(*parts, strict=True)
        for label, cell in zip(labels, same, strict=True)
    ]


def _along(values: xr.DataArray, sizes: dict[str, int]) -> np.ndarray:
    # What lacks a dimension is the same in all rows along it.
    missing = {dim: size for dim, size in sizes.items() if dim not in values.dims}
    return np.ravel(values.expand_dims(missing).transpose(*sizes).values)
