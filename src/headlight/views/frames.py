"""Tables as cells of text, and the dimensions by which values are told apart."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.errors import UsageError
from headlight.views.colour import MINUS, MISSING, decimal, grouped


@dataclass(frozen=True, slots=True)
class FrameCell:
    """A cell: what it shows, the number it stands for (None for none), whether it stands out."""

    text: str
    order: float | None = None
    strong: bool = False


def frame_cells(
    frame: pd.DataFrame,
    formats: Mapping[str, str],
    highlight: Collection[tuple[int, str]] = (),
    around: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> list[list[FrameCell]]:
    """The cells of a frame, row by row; its index is left out.

    Args:
        frame: Any values; None and NaN become a dash.
        formats: Column to Python format; it applies to the numbers of the column.
        highlight: Row number and column of the cells that stand out.
        around: Half the widths of the intervals of some columns, in their units.

    Raises:
        UsageError: A format or a highlight names a column that is not there, or a format does not
            fit its numbers.
    """
    names = [str(name) for name in frame.columns]
    for name in [*formats, *around, *(column for _, column in highlight)]:
        if name not in names:
            raise UsageError(
                f"there is no column {name!r} in the table; it has {', '.join(names)}."
            )
    strong = set(highlight)
    return [
        [
            _cell(
                value,
                formats.get(name, ""),
                strong=(row, name) in strong,
                half=around[name][row] if name in around else math.nan,
            )
            for name, value in zip(names, values, strict=True)
        ]
        for row, values in enumerate(frame.itertuples(index=False, name=None))
    ]


def numeric_columns(cells: list[list[FrameCell]], count: int) -> list[bool]:
    """Return the columns that hold numbers, and so are set flush right."""
    return [
        any(row[column].order is not None for row in cells)
        and all(row[column].order is not None or row[column].text == MISSING for row in cells)
        for column in range(count)
    ]


def _cell(value: object, format: str, *, strong: bool, half: float) -> FrameCell:
    if value is None or value is pd.NaT or value is pd.NA:
        return FrameCell(MISSING, strong=strong)
    if isinstance(value, bool | np.bool_):
        return FrameCell("yes" if value else "no", strong=strong)
    if not isinstance(value, int | float | np.number):
        return FrameCell(str(value), strong=strong)
    number = float(value)
    if not math.isfinite(number):
        return FrameCell(MISSING if math.isnan(number) else str(number), strong=strong)
    around = f" ±{_written(half, format)}" if math.isfinite(half) else ""
    return FrameCell(f"{_written(value, format)}{around}", number, strong)


def _written(value: int | float | np.number, format: str) -> str:
    if not format:
        whole = isinstance(value, int | np.integer)
        return (grouped if whole else decimal)(float(value)).replace("-", MINUS)
    try:
        return f"{value:{format}}".replace("-", MINUS)
    except (ValueError, TypeError) as error:
        raise UsageError(f"the format {format!r} does not fit the number {value}.") from error


AVERAGED = ("layer", "head", "seed")
"""Dimensions over which the mean is shown where nothing tells their labels apart."""


@dataclass(frozen=True, slots=True)
class By:
    """A dimension each label of which has a row, a column, a line or a map of its own.

    Attributes:
        dim: Its name.
        names: What its labels are called, where they are not shown as they are.
        heading: What the dimension is called; by default its name.
        format: Python's, of labels that are numbers.
    """

    dim: str
    names: Mapping[Any, str] = field(default_factory=dict)
    heading: str | None = None
    format: str = ""

    @property
    def called(self) -> str:
        """The heading."""
        return self.dim if self.heading is None else self.heading

    def labels(self, result: xr.Dataset) -> list[Any]:
        """The labels in the result, as they are shown; numbers stay numbers."""
        return [self.names.get(each, each) for each in result[self.dim].values.tolist()]


ByWhich = By | str | Sequence[By | str]


def each_by(by: ByWhich) -> tuple[By, ...]:
    """Dimensions that may be given by name, or one alone."""
    dimensions = (by,) if isinstance(by, By | str) else by
    return tuple(each if isinstance(each, By) else By(each) for each in dimensions if each)


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of one variable at one label of each dimension that tells them apart.

    Attributes:
        at: The place of the label along each of these dimensions.
        labels: The labels, as they are in the result.
        names: What they are called, by dimension.
        values: Over the other dimensions.
    """

    at: dict[str, int]
    labels: tuple[Any, ...]
    names: dict[str, Any]
    values: xr.DataArray

    def said(self, template: str) -> str:
        """A text in which ``{dimension}`` stands for the label's name."""
        return template.format(**self.names)


def cells(
    result: xr.Dataset, variable: str, by: tuple[By, ...], remaining: Sequence[str]
) -> Iterator[Cell]:
    """The values of a variable over the dimensions kept, one after the other for each label.

    Raises:
        UsageError: the result has no such variable, or it has a dimension that is neither kept nor
            told apart, and that no mean is shown of.
    """
    values = variable_of(result, variable)
    covered = {*remaining, *(each.dim for each in by)}
    rest = [str(dim) for dim in values.dims if dim not in covered]
    if set(rest) - set(AVERAGED):
        raise UsageError(
            f"{variable} has the dimensions {', '.join(map(str, values.dims))}, of which "
            f"{', '.join(rest)} would be lost; choose a label of them, or tell them apart."
        )
    if rest:
        attributes = values.attrs
        values = values.mean(rest).assign_attrs(attributes)
    labels = [result[each.dim].values.tolist() for each in by]
    label_names = [each.labels(result) for each in by]
    for place in product(*(range(len(each)) for each in labels)):
        at = {each.dim: n for each, n in zip(by, place, strict=True)}
        here = values.isel({dim: n for dim, n in at.items() if dim in values.dims}, drop=True)
        yield Cell(
            at,
            tuple(each[n] for each, n in zip(labels, place, strict=True)),
            {each.dim: names[n] for each, names, n in zip(by, label_names, place, strict=True)},
            here,
        )


def variable_of(result: xr.Dataset, name: str) -> xr.DataArray:
    """A variable or coordinate of a result.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in result:
        variables = ", ".join(map(str, result.data_vars))
        raise UsageError(f"the result has no variable {name!r}; it has {variables}.")
    return result[name]


def template_of(template: str, by: tuple[By, ...], result: xr.Dataset, variable: str) -> str:
    """Return the given template, or else the labels' names, or the variable's long name."""
    if template:
        return template
    if by:
        return ", ".join(f"{{{each.dim}}}" for each in by)
    return named(variable_of(result, variable)).replace("{", "{{").replace("}", "}}")


def named(variable: xr.DataArray) -> str:
    """The long name of a variable, or else its name."""
    return str(variable.attrs.get("long_name", variable.name))
