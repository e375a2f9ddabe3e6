"""Dimensions by whose labels the values of a variable are told apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import xarray as xr

from headlight.errors import UsageError

AVERAGED = ("layer", "head", "seed")
"""Dimensions over which the mean is shown where nothing tells their labels apart."""


@dataclass(frozen=True, slots=True)
class By:
    """Dimension whose labels have a row, a column, a line or a map each.

    Attributes:
        dim: Name of the dimension.
        names: Names of the labels that are not shown as they are.
        heading: Heading of the dimension; by default its name.
        format: Python format of labels that are numbers.
    """

    dim: str
    names: Mapping[Any, str] = field(default_factory=dict)
    heading: str | None = None
    format: str = ""

    @property
    def called(self) -> str:
        """Heading of the dimension."""
        return self.dim if self.heading is None else self.heading

    def labels(self, result: xr.Dataset) -> list[Any]:
        """Return the labels in the result, as they are shown; numbers stay numbers."""
        return [self.names.get(label, label) for label in result[self.dim].values.tolist()]


ByWhich = By | str | Sequence[By | str]


def as_dimensions(by: ByWhich) -> tuple[By, ...]:
    """Return dimensions, which may be given by name, or a single one."""
    dimensions = (by,) if isinstance(by, By | str) else by
    return tuple(dim if isinstance(dim, By) else By(dim) for dim in dimensions if dim)


@dataclass(frozen=True, slots=True)
class Cell:
    """Values of a variable at one label of each dimension that tells them apart.

    Attributes:
        at: Place of the label along each of these dimensions.
        labels: Labels, as they are in the result.
        names: Names of the labels, by dimension.
        values: Values over the other dimensions.
    """

    at: dict[str, int]
    labels: tuple[Any, ...]
    names: dict[str, Any]
    values: xr.DataArray

    def said(self, template: str) -> str:
        """Return the template with the label's name in place of ``{dimension}``."""
        return template.format(**self.names)


def cells(
    result: xr.Dataset, variable: str, by: tuple[By, ...], remaining: Sequence[str]
) -> Iterator[Cell]:
    """Yield the values of a variable over the dimensions kept, label by label.

    Raises:
        UsageError: The result has no such variable, or it has a dimension that is neither kept nor
            told apart, and that no mean is shown of.
    """
    values = variable_of(result, variable)
    covered = {*remaining, *(dimension.dim for dimension in by)}
    rest = [str(dim) for dim in values.dims if dim not in covered]
    if set(rest) - set(AVERAGED):
        raise UsageError(
            f"{variable} has the dimensions {', '.join(map(str, values.dims))}, of which "
            f"{', '.join(rest)} would be lost; choose a label of them, or tell them apart."
        )
    if rest:
        attributes = values.attrs
        values = values.mean(rest).assign_attrs(attributes)
    labels = [result[dimension.dim].values.tolist() for dimension in by]
    names = [dimension.labels(result) for dimension in by]
    for places in product(*(range(len(along)) for along in labels)):
        at = {dimension.dim: place for dimension, place in zip(by, places, strict=True)}
        # A variable may lack a dimension, and is then the same at all labels of it.
        here = values.isel(
            {dim: place for dim, place in at.items() if dim in values.dims}, drop=True
        )
        yield Cell(
            at,
            tuple(along[place] for along, place in zip(labels, places, strict=True)),
            {dim: along[place] for (dim, place), along in zip(at.items(), names, strict=True)},
            here,
        )


def variable_of(result: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variable or coordinate of a result.

    Raises:
        UsageError: There is none of that name.
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
        return ", ".join(f"{{{dimension.dim}}}" for dimension in by)
    # A long name is no template: its braces are doubled, which ``format`` undoes.
    return named(variable_of(result, variable)).replace("{", "{{").replace("}", "}}")


def named(variable: xr.DataArray) -> str:
    """Return the long name of a variable, or else its name."""
    return str(variable.attrs.get("long_name", variable.name))
