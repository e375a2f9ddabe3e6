"""Files of a result beside it: its report, its tables, and formats of other packages."""

from collections.abc import Mapping
from typing import Any

import xarray

from headlight.catalogue.writers import REPORT, RESULT, run_writers
from headlight.engine.configuration_file import write_configuration
from headlight.files import Location
from headlight.output_folder import OutputFolder
from headlight.result import csv_tables, csv_text, netcdf_bytes
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.result_contents import sections, tables
from headlight.views.result_page import study_page

_NO_TABLES = ("kept", "token", "place", "drawn", "decile", "group")
"""Dimensions of kept texts and of groups of texts, which no table shows."""


class StudyResult:
    """Result of a study, in the formats that are written into the folder of a run.

    Attributes:
        dataset: Result of any kind that has a page.
    """

    def __init__(self, dataset: xarray.Dataset, pages: PassagePages = NO_PAGES) -> None:
        self.dataset = dataset
        self._pages, self._sections = pages, sections(dataset, pages)

    def to_html(self) -> str:
        """Return the page of the result, which needs nothing else."""
        command = self.dataset.attrs.get("command", "")
        return study_page(self.dataset, command, self._pages, self._sections)

    def to_csv(self) -> dict[str, bytes]:
        """Return the numbers of the result and the tables of its page, by the names of files."""
        # Passages are for the report, and groups for comparisons: as tables they would be many
        # rows.
        contents = csv_tables(self.dataset.drop_dims(_NO_TABLES, errors="ignore"))
        for name, table in tables(self.dataset, self._sections).items():
            contents[f"{name}.csv"] = csv_text(table.frame).encode(errors="replace")
        return contents

    def to_netcdf(self) -> bytes:
        """Return every number as NetCDF, as `headlight.open` reads it."""
        return netcdf_bytes(self.dataset)


def write_report(
    result: xarray.Dataset,
    output: OutputFolder,
    configuration: Mapping[str, Any],
    pages: PassagePages = NO_PAGES,
) -> Location:
    """Write the files of a result and ``config.yaml``; return the path of the report.

    Args:
        result: Result of a study.
        output: Folder of the run.
        configuration: Configuration that repeats the run.
        pages: Pages of texts, to which the report leads.

    Raises:
        HeadlightError: The folder cannot be written, or somebody else's file is in the way.
    """
    page = write_files(result, output, pages)
    write_configuration(configuration, output)
    return page


def claim_files(output: OutputFolder) -> None:
    """Note the files that `write_files` will write; those of its folders are not known yet.

    Raises:
        HeadlightError: Somebody else's file is in the way.
    """
    output.claim(path for path in run_writers() if not path.endswith("/"))


def write_files(
    result: xarray.Dataset, output: OutputFolder, pages: PassagePages = NO_PAGES
) -> Location:
    """Write a result in the formats of `run_writers`; return the path of the report.

    Args:
        result: Result of any kind that has a page.
        output: Folder in which the result itself is kept already.
        pages: Pages of texts, to which the report leads.

    Raises:
        HeadlightError: The folder cannot be written, or somebody else's file is in the way.
    """
    study_result = StudyResult(result, pages)
    contents: dict[str, bytes] = {}
    for path, row in run_writers().items():
        if path == RESULT:  # kept before anything is made of it, so that a run can be resumed
            continue
        content = row.write(study_result)
        if path.endswith("/"):
            contents.update({f"{path}{name}": _encoded(inner) for name, inner in content.items()})
        else:
            contents[path] = _encoded(content)
    output.claim(contents)
    page = contents.pop(REPORT)
    for path, content in contents.items():
        output.write(path, content)
    return output.write(REPORT, page)


def _encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
