"""The folder of a reproduction, and what lies in it; without torch."""

from pathlib import Path

from headlight.analysis.folder import RunFolder
from headlight.analysis.work_folders import prepare_work_folders, remove_work_folder

RESULTS = "results"
"""Every result that exhibits are made of, a file each."""

RUNS = "runs"
"""What is half done; nothing is, once the reproduction is at its end."""


def prepare_folders(path: Path) -> None:
    """Make the folders of a reproduction; refuses those that hold files of somebody else."""
    prepare_work_folders(path, (RESULTS, RUNS))


def remove_unfinished(path: Path) -> None:
    """Remove what was half done in the folder of a reproduction that is at its end."""
    remove_work_folder(path / RUNS)


def begun_run(path: Path) -> RunFolder:
    """The folder of a study that goes on where it stopped."""
    return RunFolder(path=path, resume=True)


def reproduction_folder(path: Path, *, resume: bool = False, overwrite: bool = False) -> RunFolder:
    """The folder of a reproduction, not yet opened; for the arguments see `RunFolder`."""
    return RunFolder(path=path, resume=resume, overwrite=overwrite, holds=(RESULTS, RUNS))
