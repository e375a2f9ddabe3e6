"""What lies beside the result of a run: the report, the tables, and how to run it again."""

from collections.abc import Mapping
from typing import Any

import xarray
import yaml

from headlight import files
from headlight.analysis.folder import REPORT, TABLES
from headlight.errors import ResultError
from headlight.files import Location, location
from headlight.result import csv_text, save_csv
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.result_page import sections, study_page, tables

CONFIG = "config.yaml"

_NO_TABLES = ("kept", "token", "place", "drawn", "decile", "group")
"""Dimensions of what is kept of texts, and of groups of texts."""

_HEADING = "# headlight {command} --config {file} --out FOLDER repeats this run.\n"


def write_report(
    result: xarray.Dataset,
    folder: Location | str,
    configuration: Mapping[str, Any],
    pages: PassagePages = NO_PAGES,
) -> Location:
    """Write ``report.html``, ``tables/*.csv`` and ``config.yaml``; returns the path of the report.

    Args:
        result: of a study.
        folder: of the run.
        configuration: what repeats the run.
        pages: of texts, to which the report leads.

    Raises:
        ResultError: the folder cannot be written.
    """
    folder = location(folder)
    page = write_page(result, folder, pages)
    write_configuration(configuration, folder)
    return page


def write_page(
    result: xarray.Dataset, folder: Location, pages: PassagePages = NO_PAGES
) -> Location:
    """Write ``report.html`` and ``tables/*.csv``; returns the path of the report.

    Args:
        result: of any kind that has a page.
        folder: where they go.
        pages: of texts, to which the report leads.

    Raises:
        ResultError: the folder cannot be written.
    """
    beneath = files.make_folder(folder / TABLES)
    # Passages are for the report, and groups for comparisons: as tables they would be many rows.
    save_csv(result.drop_dims(_NO_TABLES, errors="ignore"), beneath)
    shown = sections(result, pages)
    for name, table in tables(result, shown).items():
        text = csv_text(table.frame)
        files.write(beneath / f"{name}.csv", text.encode(errors="replace"), error=ResultError)
    page = folder / REPORT
    files.write(page, study_page(result, result.attrs.get("command", ""), shown=shown).encode())
    return page


def write_configuration(configuration: Mapping[str, Any], folder: Location) -> None:
    """Write ``config.yaml``, which repeats a run.

    Args:
        configuration: what repeats it.
        folder: of the run.

    Raises:
        ResultError: the folder cannot be written.
    """
    command = str(configuration["study"]).replace("_", "-")
    settings = {name: value for name, value in configuration.items() if name != "study"}
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    heading = _HEADING.format(command=command, file=CONFIG)
    files.write(folder / CONFIG, (heading + text).encode(errors="replace"))
