"""Results as CSV tables, in which no text is a formula."""

import re

import pandas
import xarray

from headlight import files
from headlight.errors import ResultError
from headlight.files import Location, location
from headlight.result.estimate import with_ends

FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""Beginnings of a cell that a spreadsheet takes for a formula, or skips to reach one."""

# Separators other than the comma are not quoted, and then no quotes protect the text behind them.
_INNER_FORMULA = re.compile(r"[;\t\n][\s\"]*(?=[=+\-@])")


def save_csv(dataset: xarray.Dataset, folder: Location | str) -> list[Location]:
    """Write one CSV table per group of variables that share their dimensions.

    A table has one row per cell: first the coordinates, under the names of the dimensions, then the
    variables. It is named after its dimensions (`layer-head.csv`); variables without any share
    `scalars.csv`. Numbers are written with all their digits, missing ones as empty fields.

    Returns:
        Files written, in alphabetical order. Each is written whole or not at all.

    Raises:
        ResultError: The folder or a file cannot be written.
    """
    folder = files.make_folder(location(folder))
    tables = csv_tables(dataset)
    for name, content in tables.items():
        files.write(folder / name, content, error=ResultError)
    return sorted(folder / name for name in tables)


def csv_tables(dataset: xarray.Dataset) -> dict[str, bytes]:
    """Return the tables that `save_csv` writes, by the names of their files."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for variable_name in map(str, dataset.data_vars):
        dataset = with_ends(dataset, variable_name)
    for name, variable in dataset.data_vars.items():
        groups.setdefault(tuple(map(str, variable.dims)), []).append(str(name))
    return {
        f"{'-'.join(dims) or 'scalars'}.csv": _table(dataset[names], dims).encode(errors="replace")
        for dims, names in groups.items()
    }


def csv_text(frame: pandas.DataFrame, *, index: bool = False) -> str:
    r"""Return a table as CSV in which no text is a formula to a spreadsheet.

    Text that begins like one gets an apostrophe before it, as OWASP advises, and so does text that
    would begin a cell where semicolons or tabs are taken to separate; numbers, also those that are
    written as text, stay as they are.  A carriage return is written out as ``\r``.

    Args:
        frame: Table.
        index: Whether to write the index, too, as the first columns.
    """
    table = (frame.reset_index() if index else frame).rename(columns=_no_formula)
    # By place: two columns may have one name.
    for column, dtype in enumerate(table.dtypes):
        if not pandas.api.types.is_numeric_dtype(dtype):
            table.isetitem(column, table.iloc[:, column].map(_no_formula).array)
    return str(table.to_csv(index=False))


def _no_formula(value: object) -> object:
    if not isinstance(value, str):
        return value
    # pandas does not quote a carriage return, which ends a row for some programs.
    value = value.replace("\r", r"\r")
    value = _INNER_FORMULA.sub(r"\g<0>'", value)
    if not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _table(group: xarray.Dataset, dims: tuple[str, ...]) -> str:
    if not dims:
        row = {str(name): variable.item() for name, variable in group.data_vars.items()}
        return csv_text(pandas.DataFrame([row]))
    frame = group.reset_coords(_beside(group, dims), drop=True).to_dataframe(list(dims))
    variables = [str(name) for name in group.data_vars]
    along = [name for name in frame.columns if name not in variables]
    return csv_text(frame[along + variables], index=True)


def _beside(group: xarray.Dataset, dims: tuple[str, ...]) -> list[str]:
    # Coordinates along which no variable of the group runs; every row would repeat them.
    return [
        str(name) for name, coordinate in group.coords.items() if not set(coordinate.dims) & {*dims}
    ]
