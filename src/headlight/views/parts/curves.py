"""Values by layer, and curves over other numbers, of the variables of a result."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.views.colour import series_styles
from headlight.views.parts.by import ByWhich, Cell, cells, each_by, template_of
from headlight.views.parts.section import Figure
from headlight.views.pictures import (
    LayerPanel,
    LayerSeries,
    Line,
    LinePanel,
    Reference,
    lines,
    points_by_layer,
)
from headlight.views.scale import Number


@dataclass(frozen=True, slots=True)
class Curve:
    """A variable by layer or over another dimension, as a line or one for each label.

    By layer there is a dot for each head and a line through the means. Over anything else, or where
    there is an interval, there is a band between its ends. In a text ``{dimension}`` stands for the
    name of a label by which lines are told apart.

    Attributes:
        variable: Of the result.
        label: What the line is called; by default the label that comes last in `by`.
        panel: The panel that it is in, by title; curves of one title share a panel.
        by: Dimensions each label of which has a line.
        over: The dimension of the horizontal axis.
        interval: Whether the variables ``_low`` and ``_high`` are drawn as a band.
        error: A variable that is drawn as a band to either side.
        percent: Whether values are shares.
        x_label: Of the horizontal axis; by default its dimension.
        y_label: Of the vertical axis.
        references: Dashed lines to compare with.
        limits: Of the vertical axis; from the values when None.
        colour: Of a series of the report; by default that of the label that has one.
        dashed: Labels whose lines are dashed.
        marked: Whether each point has a marker.
    """

    variable: str
    label: str = ""
    panel: str = ""
    by: ByWhich = ()
    over: str = "layer"
    interval: bool = False
    error: str = ""
    percent: bool = False
    x_label: str | None = None
    y_label: str = ""
    references: Sequence[Reference] = ()
    limits: tuple[Number, Number] | None = None
    colour: str = ""
    dashed: Collection[str] = ()
    marked: bool = False

    @property
    def by_layer(self) -> bool:
        """Whether it is drawn with a dot for each head."""
        return self.over == "layer" and not (self.interval or self.error)


def curves(result: xr.Dataset, *shown: Curve, columns: int | None = None) -> Callable[[], Figure]:
    """What draws panels of curves; those of which nothing was observed are left out.

    Args:
        result: Whose variables they show; a part of it may be chosen with ``sel``.
        shown: In the order of the panels and of their lines.
        columns: Panels in a row; as many as fit when None.
    """

    def draw() -> Figure:
        drawn = [each for one in shown for each in _drawn(result, one)]
        drawn = [each for each in drawn if each.seen] or drawn
        panels: dict[str, list[_Drawn]] = {}
        for each in drawn:
            panels.setdefault(each.panel, []).append(each)
        if all(one.by_layer for one in shown):
            return points_by_layer(
                [_layer_panel(result, *panel) for panel in panels.items()], columns=columns
            )
        return lines([_line_panel(*panel) for panel in panels.items()], columns=columns)

    return draw


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One line: what was asked for, where it goes, and its values."""

    asked: Curve
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


def _drawn(result: xr.Dataset, shown: Curve) -> list[_Drawn]:
    by = each_by(shown.by)
    kept = ("layer", "head") if shown.by_layer else (shown.over,)
    label = shown.label or (template_of("", by[-1:], result, shown.variable) if by else "")
    ends = [f"{shown.variable}_low", f"{shown.variable}_high"] if shown.interval else []
    ends = ends or ([shown.error] if shown.error else [])
    beside = [list(cells(result, name, by, kept)) for name in ends]
    return [
        _Drawn(
            shown,
            cell.said(shown.panel),
            cell.said(label),
            shown.colour or _colour(cell),
            any(each in shown.dashed for each in cell.labels),
            result[shown.over].values,
            cell.values,
            _ends(cell.values, [each[n].values for each in beside]),
        )
        for n, cell in enumerate(cells(result, shown.variable, by, kept))
    ]


def _ends(
    values: xr.DataArray, given: Sequence[xr.DataArray]
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The edges of the band: as given, or one error to either side."""
    if not given:
        return None
    if len(given) == 2:
        return given[0].values, given[1].values
    error = np.nan_to_num(given[0].values)
    return values.values - error, values.values + error


def _colour(cell: Cell) -> str:
    """That of the series of the report that the line is; by its place if it is none."""
    return next((str(each) for each in reversed(cell.labels) if each in series_styles()), "")


def _layer_panel(result: xr.Dataset, title: str, drawn: Sequence[_Drawn]) -> LayerPanel:
    """Layers that were not looked at have a gap; heads are named where all are there."""
    layers = result["layer"].values
    every = range(int(layers.min()), int(layers.max()) + 1)
    series = [
        LayerSeries(
            each.label,
            each.values.reindex(layer=every).transpose("layer", ...).values,
            each.colour,
        )
        for each in drawn
    ]
    heads = [each.values["head"].values for each in drawn if "head" in each.values.dims]
    whole = all(np.array_equal(each, range(len(each))) for each in heads)
    asked = drawn[0].asked
    return LayerPanel(
        title,
        series,
        asked.y_label,
        asked.percent,
        asked.limits,
        asked.references,
        first_layer=every[0],
        named=bool(heads) and whole,
    )


def _line_panel(title: str, drawn: Sequence[_Drawn]) -> LinePanel:
    asked = drawn[0].asked
    return LinePanel(
        title,
        [
            Line(
                each.label,
                each.x,
                each.values.values,
                low,
                high,
                colour=each.colour,
                dashed=each.dashed,
                marked=each.asked.marked,
            )
            for each in drawn
            for low, high in [each.ends or (None, None)]
        ],
        asked.over if asked.x_label is None else asked.x_label,
        asked.y_label,
        percent=asked.percent,
        whole=asked.over == "layer",
        limits=asked.limits,
        references=asked.references,
    )
