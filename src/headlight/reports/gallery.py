"""Galleries: the heads of surveys as a folder of pages."""

from collections.abc import Iterable
from pathlib import Path

import xarray

from headlight import files
from headlight.catalogue.writers import REPORT
from headlight.engine.folder import RunFolder
from headlight.errors import UsageError, setting
from headlight.files import Location, check_reachable, location
from headlight.output_folder import OutputFolder
from headlight.result import load, refusing_incomplete
from headlight.views.gallery import Shown, gallery_files

INDEX = "index.html"


def gallery(
    runs: Iterable[str | Path | xarray.Dataset],
    out: str | Path,
    *,
    overwrite: bool = False,
) -> Path:
    """Write the heads of surveys as a folder for any web host, which opens from disk too.

    Args:
        runs: Folders of surveys, their ``result.nc``, or results; at least one.
        out: Folder of the gallery.
        overwrite: Whether to write into a folder that holds something already; the files of a
            gallery in it are removed first, and no other file is replaced.

    Returns:
        Path of the first page, ``index.html``, which is written last.

    Raises:
        UsageError: There is no run, one is of another study, or the folder holds something.
        ResultError: A result cannot be read.
        RunError: The folder cannot be written, or somebody else's file is in the way.
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
    with RunFolder(path=folder, overwrite=overwrite, holds=(INDEX,), writes=(INDEX,)).opened():
        output = OutputFolder(folder)
        with refusing_incomplete("a survey"):
            for name, content in gallery_files(surveys):
                output.write(name, content)
    return folder / INDEX


def _shown(run: str | Path | xarray.Dataset) -> Shown:
    """Return a survey with its report."""
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
    return files.read(page, refuse_links=True) if page.exists() or files.is_link(page) else None
