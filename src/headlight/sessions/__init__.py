"""Reports and galleries written beside results."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import xarray
import yaml

from headlight import files
from headlight.analysis.folder import CONFIG, REPORT, TABLES, RunFolder
from headlight.errors import UsageError, setting
from headlight.files import Location, check_reachable, location
from headlight.output_folder import OutputFolder
from headlight.result import csv_tables, csv_text, load, refusing_incomplete
from headlight.views.gallery import Shown, check_headvis, gallery_files
from headlight.views.result_page import sections, study_page, tables
from headlight.views.run_comparison import NO_PAGES, PassagePages

INDEX = "index.html"


def gallery(
    runs: Iterable[str | Path | xarray.Dataset],
    out: str | Path,
    *,
    overwrite: bool = False,
    headvis: bool = False,
) -> Path:
    """Write the heads of surveys as a folder for any web host, which opens from disk too.

    Args:
        runs: folders of surveys, their ``result.nc``, or results; at least one.
        out: the folder.
        overwrite: write into a folder that holds something already; the files of a gallery in it
            are removed first, and no other is replaced.
        headvis: write the data that the front end of HeadVis reads as well, a folder for each
            survey in ``headvis``.

    Returns:
        Its first page, ``index.html``, which is written last.

    Raises:
        UsageError: there is no run, one is of another study, the folder holds something, or
            HeadVis could show nothing of a survey.
        ResultError: a result cannot be read.
        RunError: the folder cannot be written, or somebody else's file is in the way.
    """
    surveys = [_shown(run) for run in runs]
    if not surveys:
        raise UsageError("a gallery is made of surveys; name the folder of at least one.")
    folder = check_reachable(Path(out), error=UsageError)
    if not overwrite and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} holds something already; choose another folder, or write into it with "
            f"{setting('overwrite=True')}."
        )
    with refusing_incomplete("a survey"):
        for each in surveys if headvis else ():
            check_headvis(each.result)
    with RunFolder(path=folder, overwrite=overwrite, holds=(INDEX,), writes=(INDEX,)).opened():
        output = OutputFolder(folder)
        with refusing_incomplete("a survey"):
            for name, content in gallery_files(surveys, headvis=headvis):
                output.write(name, content)
    return folder / INDEX


def _shown(run: str | Path | xarray.Dataset) -> Shown:
    """A survey with its report."""
    if isinstance(run, xarray.Dataset):
        result, report, name = run, None, "this result"
    else:
        place = location(str(run))
        name = str(run)
        report = _report(place) if place.is_dir() else None
        result = load(place)
    stage = str(result.attrs.get("stage", ""))
    if stage != "survey":
        raise UsageError(
            f"{name} is of {stage.replace('_', ' ') or 'no study'}, and a gallery shows the heads "
            "of surveys; name the folders of such runs."
        )
    return Shown(result, report)


def _report(folder: Location) -> bytes | None:
    page = folder / REPORT
    return files.read(page, own=True) if page.exists() or files.is_link(page) else None


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
    all_sections = sections(result, pages)
    for name, table in tables(result, all_sections).items():
        contents[f"{name}.csv"] = csv_text(table.frame).encode(errors="replace")
    page = study_page(result, result.attrs.get("command", ""), all_sections=all_sections).encode()
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
