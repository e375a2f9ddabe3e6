"""The tables of the report: the numbers behind the figures."""

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headlight.findings import (
    average,
    category_label,
    name_of,
    observed,
    occurs,
    out_of_reach,
    share,
    surveyed,
)
from headlight.views.colour import level
from headlight.views.numbers import (
    MISSING,
    Format,
    decimal,
    percent_cell,
    percent_text,
    rank_text,
    two_decimals,
)
from headlight.vocabulary import CATEGORIES, NEIGHBOURS

OUT_OF_REACH = "out of reach"
"""What the column is called of the weight that effective attention leaves out."""
_ATTENDING = ("all", *CATEGORIES)
_SHORT = {"punctuation": "punct.", "other": "other"}
"""Column names where the full one would be too wide."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what it shows, the number it is sorted by (None for none), and its CSS class."""

    text: str
    order: int | float | None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a sortable table, with its CSS class.

    ``measure`` is empty where it belongs to all measures.
    """

    label: str
    measure: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class SortableTable:
    """A table whose first column names its rows; ``ordered`` says that they are in its order."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    ordered: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """A coloured cell of a matrix."""

    text: str
    step: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Which category attends to which, by one measure."""

    title: str
    scale: str
    columns: list[str]
    rows: list[tuple[str, list[Shade]]]


def head_table(result: xr.Dataset) -> SortableTable:
    """One row per head: every share, the entropy and the dispersion."""
    columns, values, formats = _head_columns(result)
    keep = [i for i, value in enumerate(values) if np.isfinite(value).any()]
    rows = []
    for row, layer in enumerate(result["layer"].values.tolist()):
        for head in range(result.sizes["head"]):
            name = Cell(name_of(result, layer, head), layer * 1e4 + head)
            cells = [_cell(float(values[i][row, head]), formats[i]) for i in keep]
            # A layer may have fewer heads than others.
            if any(cell.order is not None for cell in cells):
                rows.append([name, *cells])
    return SortableTable("heads", "All heads", [Column("head"), *(columns[i] for i in keep)], rows)


def layer_table(result: xr.Dataset) -> SortableTable:
    """One row per layer: means over its heads, measures of the whole layer, and ‖x‖."""
    columns, values, formats = _head_columns(result)
    means = [average(value, axis=1) for value in values]
    for label, mean, format in _layer_columns(result):
        columns.append(Column(label))
        means.append(mean)
        formats.append(format)
    for label, name in (("‖x‖ mean", "mean"), ("‖x‖ σ", "std"), ("‖x‖ CV", "cv")):
        columns.append(Column(label))
        means.append(observed(result, f"input_norm_{name}", ("layer",)))
        formats.append(decimal)
    keep = [i for i, mean in enumerate(means) if np.isfinite(mean).any()]
    rows = [
        [Cell(str(layer), layer), *(_cell(float(means[i][row]), formats[i]) for i in keep)]
        for row, layer in enumerate(result["layer"].values.tolist())
    ]
    return SortableTable(
        "layers",
        "All layers (means over heads)",
        [Column("layer"), *(columns[i] for i in keep)],
        rows,
    )


def _layer_columns(result: xr.Dataset) -> list[tuple[str, NDArray[np.float64], Format]]:
    """Measures of a whole layer, which stand at the place of its first head."""
    found: list[tuple[str, NDArray[np.float64], Format]] = []
    for row in surveyed(result, per_head=False):
        for name in CATEGORIES:
            label = f"{row.short}: {_SHORT.get(name, category_label(result, name))} %"
            found.append((label, average(share(result, row.name, name), axis=1), percent_cell))
        for name, offset in NEIGHBOURS.items():
            value = observed(result, "neighbour", measure=row.name, offset=offset)
            found.append((f"{row.short}: {name} %", average(value, axis=1), percent_cell))
        entropy = observed(result, "entropy", measure=row.name, query_category="all")
        found.append((f"{row.short}: entropy", average(entropy, axis=1), two_decimals))
    return found


def dispersion_table(result: xr.Dataset) -> SortableTable | None:
    """Mean, σ and CV of ‖f(x)‖ and ‖x‖ (Kobayashi et al. 2020, Tables 1 and 4)."""
    rows = []
    for label, name, dims in (
        ("‖f(x)‖, over heads", "vector_norm", ("layer", "head")),
        ("‖x‖, over layers", "input_norm", ("layer",)),
    ):
        fields = {f: observed(result, f"{name}_{f}", dims) for f in ("mean", "std", "cv")}
        if not np.isfinite(fields["cv"]).any():
            continue
        rows.append(
            [
                Cell(label, None),
                *(_cell(float(average(value)), decimal) for value in fields.values()),
                _extreme(result, fields["cv"], largest=True),
                _extreme(result, fields["cv"], largest=False),
                _cell(_bound(observed(result, f"{name}_max", dims), largest=True), decimal),
                _cell(_bound(observed(result, f"{name}_min", dims), largest=False), decimal),
            ]
        )
    labels = (
        "vector", "mean", "σ", "CV", "largest CV", "smallest CV", "longest", "shortest"
    )  # fmt: skip
    caption = "Dispersion of vector lengths"
    return (
        SortableTable("dispersion", caption, [Column(label) for label in labels], rows)
        if rows
        else None
    )


def category_matrices(result: xr.Dataset) -> list[Matrix]:
    """From which category to which: means over all heads, for each measure."""
    matrices = []
    for row in surveyed(result):
        values = [
            [average(share(result, row.name, key, query)) for key in CATEGORIES]
            for query in _ATTENDING
        ]
        table = np.array(values)
        if row.name == "effective":
            lost = [[average(out_of_reach(result, query))] for query in _ATTENDING]
            table = np.hstack([table, np.array(lost)])
        matrices += _matrix(result, row.title, row.colour, table)
    merged = [[_merged(result, query, key) for key in CATEGORIES] for query in _ATTENDING]
    return matrices + _matrix(result, "all heads together ‖Σαf(x)‖", "green", np.array(merged))


def _merged(result: xr.Dataset, query: str, key: str) -> float:
    """The share of the merged norm, mean over layers."""
    if not occurs(result, key):
        return math.nan
    shares = observed(result, "merged_share", ("layer",), query_category=query, key_category=key)
    return float(average(shares))


def _matrix(
    result: xr.Dataset, title: str, scale: str, values: NDArray[np.float64]
) -> list[Matrix]:
    keep = [i for i in range(values.shape[1]) if np.isfinite(values[:, i]).any()]
    rows = []
    for row, query in enumerate(_ATTENDING):
        if np.isfinite(values[row]).any():
            shades = [
                Shade(percent_cell(float(values[row, i])), _step(float(values[row, i])))
                for i in keep
            ]
            rows.append((category_label(result, query, attending=True), shades))
    labels = [_SHORT.get(name, category_label(result, name)) for name in CATEGORIES]
    columns = [[*labels, OUT_OF_REACH][i] for i in keep]
    return [Matrix(title, scale, columns, rows)] if rows else []


def _step(share: float) -> str:
    return f"q{level(share, 0.0, 1.0)}" if math.isfinite(share) else "none"


def _head_columns(
    result: xr.Dataset,
) -> tuple[list[Column], list[NDArray[np.float64]], list[Format]]:
    """Columns, values [layer, head] and formats of everything that is known about a head."""
    columns: list[Column] = []
    values: list[NDArray[np.float64]] = []
    formats: list[Format] = []

    def add(label: str, measure: str, value: NDArray[np.float64], format: Format) -> None:
        columns.append(Column(label, measure))
        values.append(value)
        formats.append(format)

    for measure in (row.name for row in surveyed(result)):
        for name in CATEGORIES:
            label = f"{_SHORT.get(name, category_label(result, name))} %"
            add(label, measure, share(result, measure, name), percent_cell)
        for name, offset in NEIGHBOURS.items():
            value = observed(result, "neighbour", measure=measure, offset=offset)
            add(f"{name} %", measure, value, percent_cell)
        value = observed(result, "entropy", measure=measure, query_category="all")
        add("entropy", measure, value, two_decimals)
        if measure == "effective":
            add(f"{OUT_OF_REACH} %", measure, out_of_reach(result), percent_cell)
    add("rank", "", observed(result, "rank"), rank_text)
    for label, variable in (
        ("‖f(x)‖ mean", "vector_norm_mean"),
        ("‖f(x)‖ σ", "vector_norm_std"),
        ("‖f(x)‖ CV", "vector_norm_cv"),
        ("A⊥ ~ α", "effective_correlation_by_head"),
    ):
        add(label, "", observed(result, variable), decimal)
    return columns, values, formats


def _cell(value: float, format: Format) -> Cell:
    if not math.isfinite(value):
        return Cell(MISSING, None)
    return Cell(format(value), float(f"{value:.6g}"))


def _extreme(result: xr.Dataset, values: NDArray[np.float64], *, largest: bool) -> Cell:
    """The largest or smallest CV, over layers or over layers and heads, and where it is."""
    if not np.isfinite(values).any():
        return Cell(MISSING, None)
    where = int(np.nanargmax(values) if largest else np.nanargmin(values))
    row, *head = map(int, np.unravel_index(where, values.shape))
    layer = int(result["layer"].values[row])
    name = f"head {name_of(result, layer, *head)}" if head else name_of(result, layer)
    value = float(values[row, *head])
    return Cell(f"{decimal(value)} ({name})", value)


def _bound(values: NDArray[np.float64], *, largest: bool) -> float:
    if not np.isfinite(values).any():
        return math.nan
    return float(np.nanmax(values) if largest else np.nanmin(values))


def composition(result: xr.Dataset) -> list[tuple[str, str, str]]:
    """Name, label and share of the tokens of each category that occurs."""
    shares = {name: observed(result, "token_share", (), key_category=name) for name in CATEGORIES}
    return [
        (name, category_label(result, name), percent_text(float(share)))
        for name, share in shares.items()
        if np.isfinite(share) and share > 0
    ]
