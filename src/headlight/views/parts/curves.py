"""Values by layer, and curves over other numbers, of the variables of a result."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.result.estimate import with_ends
from headlight.views.colours import series_styles
from headlight.views.dimensions import (
    ByWhich,
    Cell,
    as_dimensions,
    cells,
    named,
    template_of,
    variable_of,
)
from headlight.views.number_formats import Number
from headlight.views.parts.section import Figure
from headlight.views.pictures import Line, LinePanel, Reference, lines, ordered_colours
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer


@dataclass(frozen=True, slots=True)
class Curve:
    """Variable by layer or over another dimension, as a line or as a line for each label.

    By layer there is a dot for each head and a line through the means. Over anything else, or where
    there is an interval, dashes or markers, there is a line of its values, with a band between the
    ends of an interval. In a text ``{dimension}`` stands for the name of a label by which lines are
    told apart.

    Attributes:
        variable: Variable of the result.
        label: Label of the line; by default that of the last dimension of `by`.
        panel: Title of the panel that it is in; curves of the same title share a panel.
        by: Dimensions whose labels have a line each.
        over: Dimension of the horizontal axis; or a variable or coordinate, which has a value for
            each point.
        selection: Labels of coordinates, by name; only values with these labels are shown.
        interval: Whether the interval of 95% is drawn as a band.
        error: Variable that is drawn as a band to either side.
        percent: Whether values are shares.
        x_label: Label of the horizontal axis; by default its dimension or the long name of `over`.
        y_label: Label of the vertical axis.
        references: Dashed lines to compare with.
        limits: Limits of the vertical axis; from the values when None.
        colour: Name of a series of the report, or ``#rrggbb``, or either by label; by default
            that of a label which is such a series.
        ordered: Whether labels are steps of a sequence, such as layers: colours go from dark to
            light by the last of `by`.
        dashed: Labels whose lines are dashed, or whether all are.
        marked: Whether each point has a marker.
        joined: Whether a line joins the points, which otherwise have markers alone.
        logarithmic: Whether the horizontal axis is logarithmic.
    """

    variable: str
    label: str = ""
    panel: str = ""
    by: ByWhich = ()
    over: str = "layer"
    selection: Mapping[str, Hashable] = field(default_factory=dict)
    interval: bool = False
    error: str = ""
    percent: bool = False
    x_label: str | None = None
    y_label: str = ""
    references: Sequence[Reference] = ()
    limits: tuple[Number, Number] | None = None
    colour: str | Mapping[Any, str] = ""
    ordered: bool = False
    dashed: Collection[str] | bool = ()
    marked: bool = False
    joined: bool = True
    logarithmic: bool = False

    @property
    def by_layer(self) -> bool:
        """Whether the curve is drawn with a dot for each head."""
        as_lines = self.interval or self.error or self.dashed or self.marked or not self.joined
        return self.over == "layer" and not as_lines


def curves(result: xr.Dataset, *specs: Curve, columns: int | None = None) -> Callable[[], Figure]:
    """Return a function that draws panels of curves; those without an observation are left out.

    Args:
        result: Result whose variables they show; a part of it may be chosen with ``sel``.
        specs: Curves in the order of the panels and of their lines.
        columns: Panels in a row; as many as fit when None.
    """

    def draw() -> Figure:
        by_layer = all(spec.by_layer for spec in specs)
        drawn = [line for spec in specs for line in _drawn(result, spec, by_layer=by_layer)]
        # Where nothing was observed at all, empty panels say so better than no picture.
        drawn = [line for line in drawn if line.seen] or drawn
        panels: dict[str, list[_Drawn]] = {}
        for line in drawn:
            panels.setdefault(line.panel, []).append(line)
        if by_layer:
            return points_by_layer(
                [_layer_panel(result, *panel) for panel in panels.items()], columns=columns
            )
        return lines([_line_panel(*panel) for panel in panels.items()], columns=columns)

    return draw


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Line with the curve requested, its place, and its values."""

    asked: Curve
    over: str
    panel: str
    label: str
    colour: str
    dashed: bool
    x: NDArray[Any]
    values: xr.DataArray
    ends: tuple[NDArray[Any], NDArray[Any]] | None

    @property
    def seen(self) -> bool:
        return bool(self.values.notnull().any())


def _drawn(result: xr.Dataset, spec: Curve, *, by_layer: bool) -> list[_Drawn]:
    by, result = as_dimensions(spec.by), _part(result, spec.selection)
    across = variable_of(result, spec.over)
    apart = {dimension.dim for dimension in by}
    along = [str(dim) for dim in across.dims if dim not in apart]
    along_kept = ["layer", "head"] if by_layer else along
    label = spec.label or (template_of("", by[-1:], result, spec.variable) if by else "")
    if spec.interval:
        result = with_ends(result, spec.variable, {*along_kept, *apart})
    ends = [f"{spec.variable}_low", f"{spec.variable}_high"] if spec.interval else []
    ends = ends or ([spec.error] if spec.error else [])
    beside = [list(cells(result, name, by, along_kept)) for name in ends]
    places = cells(result, spec.over, by, along)
    steps = ordered_colours(result.sizes[by[-1].dim]) if spec.ordered else []
    return [
        _Drawn(
            spec,
            spec.over if across.name in across.dims else named(across),
            cell.said(spec.panel),
            cell.said(label),
            _colour(spec, cell) or (steps[cell.at[by[-1].dim]] if steps else ""),
            _dashed(spec, cell),
            x.values.transpose(*along).values.ravel(),
            cell.values if by_layer else cell.values.transpose(*along),
            _ends(cell.values, [cells_of_end[n].values for cells_of_end in beside]),
        )
        for n, (cell, x) in enumerate(
            zip(cells(result, spec.variable, by, along_kept), places, strict=True)
        )
    ]


def _part(result: xr.Dataset, selection: Mapping[str, Hashable]) -> xr.Dataset:
    """Return the part with these labels of coordinates, which need not have a dimension's name."""
    for name, label in selection.items():
        (dim,) = result[name].dims
        result = result.isel({dim: np.flatnonzero(result[name].values == label)})
    return result


def _ends(
    values: xr.DataArray, ends: Sequence[xr.DataArray]
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the edges of the band: as given, or one error to either side."""
    if not ends:
        return None
    if len(ends) == 2:
        return ends[0].values, ends[1].values
    error = np.nan_to_num(ends[0].values)
    return values.values - error, values.values + error


def _colour(spec: Curve, cell: Cell) -> str:
    """Return the colour given, else that of the series of the report, else "": by its place."""
    if isinstance(spec.colour, str):
        colour_name = spec.colour
    else:
        colour_name = next(
            (spec.colour[label] for label in cell.labels if label in spec.colour), ""
        )
    of_label = (str(label) for label in reversed(cell.labels) if label in series_styles())
    return colour_name or next(of_label, "")


def _dashed(spec: Curve, cell: Cell) -> bool:
    if isinstance(spec.dashed, bool):
        return spec.dashed
    return any(label in spec.dashed for label in cell.labels)


def _layer_panel(result: xr.Dataset, title: str, drawn: Sequence[_Drawn]) -> LayerPanel:
    """Draw a gap for layers that were not observed; name heads where all are there."""
    layers = result["layer"].values
    all_layers = range(int(layers.min()), int(layers.max()) + 1)
    series = [
        LayerSeries(
            line.label,
            line.values.reindex(layer=all_layers).transpose("layer", ...).values,
            line.colour,
        )
        for line in drawn
    ]
    heads = [line.values["head"].values for line in drawn if "head" in line.values.dims]
    whole = all(np.array_equal(numbers, range(len(numbers))) for numbers in heads)
    curve = drawn[0].asked
    return LayerPanel(
        title,
        series,
        curve.y_label,
        curve.percent,
        curve.limits,
        curve.references,
        first_layer=all_layers[0],
        named=bool(heads) and whole,
    )


def _line_panel(title: str, drawn: Sequence[_Drawn]) -> LinePanel:
    curve = drawn[0].asked
    return LinePanel(
        title,
        [
            Line(
                line.label,
                line.x,
                line.values.values.ravel(),
                low,
                high,
                colour=line.colour,
                dashed=line.dashed,
                marked=line.asked.marked or not line.asked.joined,
                joined=line.asked.joined,
            )
            for line in drawn
            for low, high in [line.ends or (None, None)]
        ],
        drawn[0].over if curve.x_label is None else curve.x_label,
        curve.y_label,
        percent=curve.percent,
        x_log=curve.logarithmic,
        whole=curve.over == "layer",
        limits=curve.limits,
        references=curve.references,
    )
