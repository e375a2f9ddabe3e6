"""Heat maps of the variables of a result."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import xarray as xr

from headlight.views.dimensions import By, ByWhich, as_dimensions, cells, template_of
from headlight.views.number_formats import Number
from headlight.views.parts.section import Figure
from headlight.views.pictures import HeadMap, head_map
from headlight.vocabulary import measure_names

UNITLESS = ("", "1", "count")


@dataclass(frozen=True, slots=True)
class Map:
    """Variable as a heat map, or as a heat map for each label of a dimension.

    Attributes:
        variable: Variable of the result.
        title: Title over the map; by default the variable's long name. With `by`, ``{dimension}``
            stands for the name of a label, which is the default.
        by: Dimensions whose labels have a map each.
        rows: Dimension of the rows.
        columns: Dimension of the columns.
        scale: Ramp of colours; by default that of the measure that tells the map apart.
        limits: Values with the lightest and the darkest colour; from the data when None.
        format: Python format of the numbers in the cells.
        unit: Unit beside the scale of colours; by default that of the variable.
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


def maps(result: xr.Dataset, *specs: Map, columns: int | None = None) -> Callable[[], Figure]:
    """Return a function that draws the maps beside each other; those without a value are left out.

    Args:
        result: Result whose variables they show; a part of it may be chosen with ``sel``.
        specs: Maps from the left.
        columns: Maps in a row; as many as fit when None.
    """

    def draw() -> Figure:
        drawn = [pair for spec in specs for pair in _drawn(result, spec)]
        filled = [heat_map for heat_map, valid in drawn if valid]
        shown = filled or [heat_map for heat_map, _ in drawn]
        annotate = None if all(spec.annotated for spec in specs) else False
        return head_map(shown, columns=columns, annotate=annotate)

    return draw


def _drawn(result: xr.Dataset, spec: Map) -> list[tuple[HeadMap, bool]]:
    """Return the maps of one variable, and whether they have values."""
    by, (rows,), (columns,) = map(as_dimensions, (spec.by, spec.rows, spec.columns))
    down, across = ([str(label) for label in side.labels(result)] for side in (rows, columns))
    template = template_of(spec.title, by, result, spec.variable)
    unit = str(result[spec.variable].attrs.get("units", "")) if spec.unit is None else spec.unit
    return [
        (
            HeadMap(
                cell.said(template),
                cell.values.transpose(rows.dim, columns.dim).values,
                down,
                across,
                rows.called,
                columns.called,
                scale=spec.scale
                or next((str(name) for name in cell.labels if name in measure_names()), "weight"),
                limits=spec.limits,
                format=spec.format,
                unit="" if unit in UNITLESS else unit,
                named=spec.named and (rows.dim, columns.dim) == ("layer", "head"),
                low_is_good=spec.low_is_good,
                framed=spec.framed,
            ),
            bool(cell.values.notnull().any()),
        )
        for cell in cells(result, spec.variable, by, (rows.dim, columns.dim))
    ]
