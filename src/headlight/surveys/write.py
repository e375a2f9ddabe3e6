"""A survey as files: the report and the tables beside the result."""

from pathlib import Path

import xarray

from headlight import files
from headlight.errors import ResultError
from headlight.result import save_csv
from headlight.surveys.folder import REPORT, TABLES
from headlight.views import report


def write_report(result: xarray.Dataset, folder: Path) -> Path:
    """Write ``report.html`` and ``tables/*.csv``; returns the path of the report.

    Raises:
        ResultError: the folder cannot be written.
    """
    tables = folder / TABLES
    try:
        tables.mkdir(exist_ok=True)
    except OSError as problem:
        raise ResultError(f"{tables} cannot be made: {files.reason(problem)}.") from problem
    save_csv(result, tables)
    page = folder / REPORT
    files.write(page, report(result, command=result.attrs.get("command", "")).encode())
    return page
