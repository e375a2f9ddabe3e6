"""Tables of all layers and all heads."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headlight.catalogue import Statistic, statistic_table
from headlight.findings import observed, surveyed
from headlight.findings.statistics import applies, numbers_of, row_label, statistics_of
from headlight.result.estimate import Estimate
from headlight.studies.survey.page.vector_lengths import lengths_table
from headlight.views.parts import Columns, Section, Table, columns

Numbers = tuple[str, Statistic, Estimate]
"""Label, row of the table of statistics, and numbers of all heads."""


def tables_section(result: xr.Dataset) -> Section:
    """Return tables of layers and heads, of lengths, and of measures of whole layers."""
    numbers = _prominent(result)
    heads, around = _heads(result, numbers), _half_widths(result, numbers)
    layers = heads.groupby("layer", as_index=False).mean().drop(columns="head")
    shares = dict.fromkeys([name for name in heads.columns if name.endswith("%")], ".1f")
    tables = [
        Table("layers", "Means over heads", layers, shares),
        Table("heads", "All heads", heads, shares, around=around),
        lengths_table(result),
        _whole_layers(result),
    ]
    return Section(
        "tables",
        "Tables",
        "Shares are percentages, entropies are in nats. Behind ± is half the interval "
        "of 95%: two heads of which these overlap are not told apart by these texts. A click on a "
        "column's name sorts by it.",
        tables=[table for table in tables if table is not None and len(table.frame)],
    )


def _whole_layers(result: xr.Dataset) -> Table:
    """Return the table of measures of whole layers, stored at their first head, and ‖x‖."""
    by_label: dict[str, NDArray[np.float64]] = {}
    for measure in surveyed(result, per_head=False):
        for row in statistic_table():
            if row.prominent and row.per_measure and applies(result, row):
                label = f"{measure.short}: {row_label(result, row, short=True)}"
                by_label |= _column(label, row, numbers_of(result, row, measure.name).mean(1).value)
    for label, name in (("‖x‖ mean", "mean"), ("‖x‖ σ", "std"), ("‖x‖ CV", "cv")):
        by_label[label] = observed(result, f"input_norm_{name}", ("layer",))
    return _places_table(result, "layers_beside", "All layers: what heads have together", by_label)


def _places_table(
    result: xr.Dataset, name: str, caption: str, by_label: Mapping[str, NDArray[np.float64]]
) -> Table:
    """Return a table by layer, or by head, without columns that have no number."""
    nonempty = {label: values for label, values in by_label.items() if np.isfinite(values).any()}
    dims = ("layer", "head")[: max((values.ndim for values in nonempty.values()), default=1)]
    data = xr.Dataset(
        {f"v{n}": (dims, values) for n, values in enumerate(nonempty.values())},
        {dim: result[dim] for dim in dims},
    )
    shown_columns = [
        Columns(f"v{n}", ".1f" if label.endswith("%") else "", label.replace("{", "{{"))
        for n, label in enumerate(nonempty)
    ]
    table = columns(name, caption, data, dims, *shown_columns)
    return table if shown_columns else Table(name, caption, pd.DataFrame())


def _half_widths(result: xr.Dataset, numbers: Sequence[Numbers]) -> dict[str, list[float]]:
    """Return half the width of the intervals in the columns of `_heads`, where known."""
    low, high = (_heads(result, numbers, end) for end in ("low", "high"))
    if len(low) != len(_heads(result, numbers)):  # of one text, or of an earlier version
        return {}
    names = [name for name in low.columns if name in high.columns and name not in ("layer", "head")]
    return {name: ((high[name] - low[name]) / 2).tolist() for name in names}


def _prominent(result: xr.Dataset) -> list[Numbers]:
    """Return the numbers of all heads that stand in tables, with their labels and rows."""
    statistics = statistics_of(result, prominent=True)
    return [
        (f"{measure.name} {row_label(result, row, short=True)}", row, by[measure.name])
        for measure in surveyed(result)
        for row, by in statistics
        if row.per_measure and measure.name in by
    ] + [
        (row_label(result, row, short=True), row, by[""])
        for row, by in statistics_of(result)
        if not row.per_measure and row.prominent
    ]


def _heads(result: xr.Dataset, numbers: Sequence[Numbers], end: str = "value") -> pd.DataFrame:
    """Return a row for each head, of numbers or of one end of their intervals."""
    by_label: dict[str, NDArray[np.float64]] = {}
    for label, row, estimate in numbers:
        by_label |= _column(label, row, getattr(estimate, end))
    places = pd.MultiIndex.from_product(
        [result["layer"].values, result["head"].values], names=["layer", "head"]
    )
    frame = pd.DataFrame({name: values.ravel() for name, values in by_label.items()}, places)
    # Drop statistics that were not observed, and heads that a layer does not have.
    return frame.dropna(axis=0, how="all").dropna(axis=1, how="all").reset_index()


def _column(
    label: str, row: Statistic, values: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    return {f"{label} %": 100 * values} if row.unit == "share" else {label: values}
