"""Sections of a page: columns of a table, and maps."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.errors import UsageError
from headlight.findings.estimates import listed
from headlight.result.estimate import with_ends
from headlight.views.colour import MINUS, MISSING, Number
from headlight.views.frames import By, ByWhich, cells, each_by, template_of
from headlight.views.pictures import HeadMap, head_map, svg_text
from headlight.vocabulary import measure_names

__all__ = ["By", "Columns", "columns"]

Figure = Any
"""Figure of matplotlib, which is loaded when one is drawn."""

Summary = dict[str, float | int | str]
"""The few numbers that say what was found, by name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of a paper and ours.

    Attributes:
        quantity: What is compared, e.g. ``dobj, best head``.
        published: The paper's value; text such as ``8-10`` where it is no number, None for none.
        ours: Our value, in the same unit; None where it could not be computed.
        unit: Of both, e.g. ``%`` or ``nats``.
        note: What has to be known to compare the two.
        digits: Decimals of our value and of the difference.
    """

    quantity: str
    published: float | int | str | None
    ours: float | int | str | None
    unit: str = ""
    note: str = ""
    digits: int = 1

    @property
    def difference(self) -> float | None:
        """Ours minus the published value, where both are finite numbers."""
        if isinstance(self.published, str | None) or isinstance(self.ours, str | None):
            return None
        difference = float(self.ours) - float(self.published)
        return difference if math.isfinite(difference) else None

    @property
    def texts(self) -> tuple[str, str, str]:
        """The published value, ours and the difference, as they are shown."""
        difference = self.difference
        return (
            self._written(self.published, "g"),
            self._written(self.ours, f".{self.digits}f"),
            MISSING if difference is None else self._signed(difference),
        )

    def _signed(self, difference: float) -> str:
        """With its sign; nothing has none."""
        rounded = round(difference, self.digits)
        return f"{rounded:+.{self.digits}f}".replace("-", MINUS) if rounded else "0"

    def _written(self, value: float | int | str | None, format: str) -> str:
        if isinstance(value, str):
            return value
        if value is None or math.isnan(value):
            return MISSING
        text = f"{value:{format}}".replace("-", MINUS)
        return f"{text}{self.unit}" if self.unit in ("", "%") else f"{text}\u00a0{self.unit}"


PLACES = frozenset({"layer", "head"})
"""Columns that say which head a row is of."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of numbers; its first column names the rows, and its index is not shown.

    Attributes:
        name: Part of an anchor and of a file's name, e.g. ``relations``.
        caption: What the table holds.
        frame: The values.
        formats: For some columns a Python format, e.g. ``.1f`` or ``.1%``; a float without one is
            written with about three digits.
        highlight: Row number and column of the cells that stand out.
        note: A sentence under the table.
        around: For some columns half the width of the interval of each row, shown behind it.
        sums: Columns whose numbers add up, which a terminal says.
        most: Rows that a page shows, the first ones; 0 for all.
        smallest_first: Whether of heads those with the smallest numbers matter most, as distances.

    Raises:
        UsageError: two columns have one label.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    formats: Mapping[str, str] = field(default_factory=dict)
    highlight: Collection[tuple[int, str]] = ()
    note: str = ""
    around: Mapping[str, Sequence[float]] = field(default_factory=dict)
    sums: Sequence[str] = ()
    most: int = 0
    smallest_first: bool = False

    def __post_init__(self) -> None:
        labels = self.frame.columns
        if not labels.is_unique:
            twice = listed([repr(label) for label in labels[labels.duplicated()].unique()])
            raise UsageError(
                f"the table {self.name!r} has several columns called {twice}; give each a label of "
                "its own."
            )

    def ranked(self) -> "Table":
        """Return the table with single heads by their first number; others as they stand.

        The largest is first, so that no head is shown for its place alone; parts of a sum stay.
        """
        frame = self.frame.reset_index(drop=True)
        numbers = (name for name in frame if frame[name].dtype.kind == "f" and name not in PLACES)
        by = next(numbers, None)
        if by is None or self.sums or not set(frame.columns) >= PLACES:
            return self
        frame = frame.sort_values(
            str(by), ascending=self.smallest_first, kind="stable", na_position="last"
        )
        order = frame.index.tolist()
        return replace(
            self,
            frame=frame.reset_index(drop=True),
            around={name: [ends[at] for at in order] for name, ends in self.around.items()},
            highlight={(order.index(row), name) for row, name in self.highlight},
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is drawn when a page or a file needs it.

    Attributes:
        name: By which it is asked for.
        caption: What it shows.
        alternative: The words that stand for it where it cannot be seen.
        draw: Makes the matplotlib figure.
        choice: Of pictures that are shown in turn, the label by which this one is chosen.
        drawn: The SVG, where it has been written already.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Figure]
    choice: str = ""
    drawn: str = ""

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.drawn or svg_text(self.draw())


@dataclass(frozen=True, slots=True)
class Section:
    """One question that a study answers, or one table or figure of a paper.

    Attributes:
        name: The anchor on the page; unique there.
        title: What it shows, in a few words.
        explanation: How to read it.
        source: The paper that it follows, and where there.
        drawings: Drawn in this order.
        tables: Shown in this order.
        comparisons: Published numbers beside ours.
        notes: Where model or data differ from the paper's, a sentence each.
        files: Names relative to the page, e.g. ``figure-2.csv``.
        group: The kind of attention, where a page has several; only heads of one are the same.
        html: Elements of a page that are neither picture nor table, under the explanation.
        examples: Of the first findings of the page, one each, below them.
    """

    name: str = ""
    title: str = ""
    explanation: str = ""
    source: str = ""
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Sequence[str] = ()
    files: Sequence[str] = ()
    group: str = ""
    html: Markup = field(default_factory=Markup)
    examples: Sequence[Markup] = ()


ENDS = ("low", "high")
"""Ends of an interval: names of its columns, and suffixes of its variables."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One variable in a table: a column, or one for each label of a dimension.

    Of layers, heads and seeds that the rows do not tell apart, the mean is shown.

    Attributes:
        variable: Of the result.
        format: Python's, e.g. ``.3f`` or ``.1%``.
        label: Of the column; by default the variable's long name. With `by`, ``{dimension}`` stands
            for the name of a label, which is the default.
        by: Dimensions each label of which has a column.
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

    def of(self, scope: str) -> "Columns":
        """Return these columns for the variable that begins with a scope, such as ``layer_``."""
        return replace(self, variable=f"{scope}{self.variable}")


def columns(
    name: str,
    caption: str,
    result: xr.Dataset,
    rows: ByWhich,
    *specs: Columns,
) -> Table:
    """A table with a row for each label of a dimension, or for each combination of several.

    Combinations at which nothing was observed, such as heads that a layer does not have, are left
    out.

    Args:
        name: Of the table.
        caption: What it holds.
        result: Whose variables it shows; a part of it may be chosen with ``sel``.
        rows: The dimensions that the rows tell apart; those with an empty heading have no column
            of labels.
        specs: The columns after those of the labels.

    Raises:
        UsageError: the result has no such variable, it has a dimension that nothing chooses, or two
            columns have one label.
    """
    across = each_by(rows)
    index = [each.labels(result) for each in across]
    product = pd.MultiIndex.from_product(index) if index else pd.MultiIndex.from_tuples([()])
    frame = pd.DataFrame(
        {each.called: product.get_level_values(n) for n, each in enumerate(across) if each.called},
        index=range(len(product)),
    )
    formats = {each.called: each.format for each in across if each.format}
    several = sum(_count(result, each.by) for each in specs if each.interval is True) > 1
    labels, values = [], []
    for each in specs:
        for label, column in _values(result, across, each, several):
            labels.append(label)
            values.append(column.astype(np.int64) if each.whole else column)
            formats |= {label: each.format} if each.format else {}
    numbers = pd.DataFrame(dict(enumerate(values)), index=frame.index).set_axis(labels, axis=1)
    frame = pd.concat([frame, numbers], axis=1)
    if len(across) > 1:
        frame = frame[numbers.notna().any(axis=1)].reset_index(drop=True)
    return Table(name, caption, frame, formats)


def _count(result: xr.Dataset, by: ByWhich) -> int:
    """Return the number of columns of one variable."""
    return math.prod(result.sizes[each.dim] for each in each_by(by))


def _values(
    result: xr.Dataset, rows: tuple[By, ...], spec: Columns, several: bool
) -> Sequence[tuple[str, np.ndarray]]:
    """The name and the values of each column; of several intervals the ends have its name."""
    by, dims = each_by(spec.by), [each.dim for each in rows]
    sizes = {dim: result.sizes[dim] for dim in dims}
    template = template_of(spec.label, by, result, spec.variable)
    names = [spec.variable]
    labels = [template]
    if spec.interval:
        result = with_ends(result, spec.variable, {*dims, *(each.dim for each in by)})
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
    """Values row by row; they stay the same along dimensions that they do not have."""
    missing = {dim: size for dim, size in sizes.items() if dim not in values.dims}
    return np.ravel(values.expand_dims(missing).transpose(*sizes).values)


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


def maps(result: xr.Dataset, *specs: Map, columns: int | None = None) -> Callable[[], Figure]:
    """Return a function that draws the maps beside each other; those without a value are left out.

    Args:
        result: Whose variables they show; a part of it may be chosen with ``sel``.
        specs: From the left.
        columns: Maps in a row; as many as fit when None.
    """

    def draw() -> Figure:
        drawn = [one for each in specs for one in _drawn(result, each)]
        filled = [one for one, valid in drawn if valid]
        annotate = None if all(each.annotated for each in specs) else False
        return head_map(filled or [one for one, _ in drawn], columns=columns, annotate=annotate)

    return draw


def _drawn(result: xr.Dataset, spec: Map) -> list[tuple[HeadMap, bool]]:
    """The maps of one variable, and whether they have values."""
    by, (rows,), (columns,) = map(each_by, (spec.by, spec.rows, spec.columns))
    down, across = ([str(each) for each in side.labels(result)] for side in (rows, columns))
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
                or next((str(each) for each in cell.labels if each in measure_names()), "weight"),
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
