"""A survey as files: the report and the tables beside the result."""

from pathlib import Path

import xarray

from headlight import files
from headlight.analysis.folder import REPORT, TABLES
from headlight.result import save_csv
from headlight.views import report


def write_report(result: xarray.Dataset, folder: Path) -> Path:
    """Write ``report.html`` and ``tables/*.csv``; returns the path of the report.

    Raises:
        ResultError: the folder cannot be written.
    """
    save_csv(result, files.make_folder(folder / TABLES))
    page = folder / REPORT
    files.write(page, report(result, command=result.attrs.get("command", "")).encode())
    return page
