"""Heat maps of the variables of a result."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import xarray as xr

from headlight.views.parts.by import By, ByWhich, Cell, cells, each_by, template_of
from headlight.views.parts.section import Figure
from headlight.views.pictures import HeadMap, head_map
from headlight.views.scale import Number
from headlight.vocabulary import measure_names

UNITLESS = ("", "1", "count")


@dataclass(frozen=True, slots=True)
class Map:
    """A variable as a heat map, or as one for each label of a dimension.

    Attributes:
        variable: Of the result.
        title: Over the map; by default the variable's long name. With `by`, ``{dimension}`` stands
            for the name of a label, which is the default.
        by: Dimensions each label of which has a map.
        rows: The dimension of the rows.
        columns: The dimension of the columns.
        scale: A ramp of colours; by default that of the measure that tells the map apart.
        limits: The values with the lightest and the darkest colour; from the values when None.
        format: Python's format of the numbers in the cells.
        unit: Beside the scale of colours; by default the variable's.
        low_is_good: Whether the smallest value has the darkest colour, as of error rates.
        named: Whether cells of layers and heads, counted from 0, are rung on a page by their names.
        framed: Cells with a frame, by the places of row and column.
        annotated: Whether numbers stand in the cells where they fit.
    """

    variable: str
    title: str = ""
    by: ByWhich = ()
    rows: By | str = "layer"
    columns: By | str = "head"
    scale: str = ""
    limits: tuple[Number, Number] | None = None
    format: str = ""
    unit: str | None = None
    low_is_good: bool = False
    named: bool = True
    framed: Collection[tuple[int, int]] = ()
    annotated: bool = True


def maps(result: xr.Dataset, *shown: Map, columns: int | None = None) -> Callable[[], Figure]:
    """Return a function that draws the maps beside each other; those without a value are left out.

    Args:
        result: Whose variables they show; a part of it may be chosen with ``sel``.
        shown: From the left.
        columns: Maps in a row; as many as fit when None.
    """

    def draw() -> Figure:
        drawn = [one for each in shown for one in _drawn(result, each)]
        seen = [one for one, there in drawn if there]
        annotate = None if all(each.annotated for each in shown) else False
        return head_map(seen or [one for one, _ in drawn], columns=columns, annotate=annotate)

    return draw


def _drawn(result: xr.Dataset, shown: Map) -> list[tuple[HeadMap, bool]]:
    """The maps of one variable, and whether they have values."""
    by, (rows,), (columns,) = map(each_by, (shown.by, shown.rows, shown.columns))
    down, across = ([str(each) for each in side.labels(result)] for side in (rows, columns))
    template = template_of(shown.title, by, result, shown.variable)
    unit = str(result[shown.variable].attrs.get("units", "")) if shown.unit is None else shown.unit
    return [
        (
            HeadMap(
                cell.said(template),
                cell.values.transpose(rows.dim, columns.dim).values,
                down,
                across,
                rows.called,
                columns.called,
                scale=shown.scale or _scale(cell),
                limits=shown.limits,
                format=shown.format,
                unit="" if unit in UNITLESS else unit,
                named=shown.named and (rows.dim, columns.dim) == ("layer", "head"),
                low_is_good=shown.low_is_good,
                framed=shown.framed,
            ),
            bool(cell.values.notnull().any()),
        )
        for cell in cells(result, shown.variable, by, (rows.dim, columns.dim))
    ]


def _scale(cell: Cell) -> str:
    """The ramp of the measure among the labels."""
    return next((str(each) for each in cell.labels if each in measure_names()), "weight")
