"""The report of a result and its tables, written beside it."""

from collections.abc import Mapping
from typing import Any

import xarray

from headlight.engine.configuration_file import write_configuration
from headlight.engine.folder import REPORT, TABLES
from headlight.files import Location
from headlight.output_folder import OutputFolder
from headlight.result import csv_tables, csv_text
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.result_contents import sections, tables
from headlight.views.result_page import study_page

_NO_TABLES = ("kept", "token", "place", "drawn", "decile", "group")
"""Dimensions of kept texts and of groups of texts, which no table shows."""


def write_report(
    result: xarray.Dataset,
    output: OutputFolder,
    configuration: Mapping[str, Any],
    pages: PassagePages = NO_PAGES,
) -> Location:
    """Write ``report.html``, ``tables/*.csv`` and ``config.yaml``; return the path of the report.

    Args:
        result: Result of a study.
        output: Folder of the run.
        configuration: Configuration that repeats the run.
        pages: Pages of texts, to which the report leads.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    page = write_page(result, output, pages)
    write_configuration(configuration, output)
    return page


def write_page(
    result: xarray.Dataset, output: OutputFolder, pages: PassagePages = NO_PAGES
) -> Location:
    """Write ``report.html`` and ``tables/*.csv``; return the path of the report.

    Args:
        result: Result of any kind that has a page.
        output: Folder to which they are written.
        pages: Pages of texts, to which the report leads.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    # Passages are for the report, and groups for comparisons: as tables they would be many rows.
    contents = csv_tables(result.drop_dims(_NO_TABLES, errors="ignore"))
    all_sections = sections(result, pages)
    for name, table in tables(result, all_sections).items():
        contents[f"{name}.csv"] = csv_text(table.frame).encode(errors="replace")
    page = study_page(result, result.attrs.get("command", ""), all_sections=all_sections).encode()
    output.claim([REPORT, *(f"{TABLES}/{name}" for name in contents)])
    for name, content in contents.items():
        output.write(f"{TABLES}/{name}", content)
    return output.write(REPORT, page)
