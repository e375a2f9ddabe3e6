"""Files beside the result of a run: the report, the tables, and how to run it again."""

from collections.abc import Mapping
from typing import Any

import xarray
import yaml

from headlight.analysis.folder import CONFIG, REPORT, TABLES
from headlight.files import Location
from headlight.output_folder import OutputFolder
from headlight.result import csv_tables, csv_text
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.result_page import sections, study_page, tables

_NO_TABLES = ("kept", "token", "place", "drawn", "decile", "group")
"""Dimensions of what is kept of texts, and of groups of texts."""

_HEADING = "# headlight {command} --config {file} --out FOLDER repeats this run.\n"


def write_report(
    result: xarray.Dataset,
    output: OutputFolder,
    configuration: Mapping[str, Any],
    pages: PassagePages = NO_PAGES,
) -> Location:
    """Write ``report.html``, ``tables/*.csv`` and ``config.yaml``; returns the path of the report.

    Args:
        result: of a study.
        output: the folder of the run.
        configuration: what repeats the run.
        pages: of texts, to which the report leads.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    page = write_page(result, output, pages)
    write_configuration(configuration, output)
    return page


def write_page(
    result: xarray.Dataset, output: OutputFolder, pages: PassagePages = NO_PAGES
) -> Location:
    """Write ``report.html`` and ``tables/*.csv``; returns the path of the report.

    Args:
        result: of any kind that has a page.
        output: where they go.
        pages: of texts, to which the report leads.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    # Passages are for the report, and groups for comparisons: as tables they would be many rows.
    contents = csv_tables(result.drop_dims(_NO_TABLES, errors="ignore"))
    shown = sections(result, pages)
    for name, table in tables(result, shown).items():
        contents[f"{name}.csv"] = csv_text(table.frame).encode(errors="replace")
    page = study_page(result, result.attrs.get("command", ""), shown=shown).encode()
    output.claim([REPORT, *(f"{TABLES}/{name}" for name in contents)])
    for name, content in contents.items():
        output.write(f"{TABLES}/{name}", content)
    return output.write(REPORT, page)


def write_configuration(configuration: Mapping[str, Any], output: OutputFolder) -> None:
    """Write ``config.yaml``, which repeats a run.

    Args:
        configuration: what repeats it.
        output: the folder of the run.

    Raises:
        HeadlightError: the folder cannot be written, or somebody else's file is in the way.
    """
    command = str(configuration["study"]).replace("_", "-")
    settings = {name: value for name, value in configuration.items() if name != "study"}
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    heading = _HEADING.format(command=command, file=CONFIG)
    output.write(CONFIG, (heading + text).encode(errors="replace"))
