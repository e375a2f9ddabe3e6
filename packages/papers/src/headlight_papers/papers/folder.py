"""The folder of a reproduction, and what lies in it; without torch."""

from pathlib import Path

from headlight.analysis.folder import RunFolder

RESULTS = "results"
"""Every result that exhibits are made of, a file each."""

RUNS = "runs"
"""What is half done; nothing is, once the reproduction is at its end."""


PAGE = "index.html"
"""All exhibits."""


def reproduction_folder(path: Path, *, resume: bool = False, overwrite: bool = False) -> RunFolder:
    """The folder of a reproduction, not yet opened; for the arguments see `RunFolder`."""
    holds = (RESULTS, RUNS, PAGE)
    return RunFolder(path=path, resume=resume, overwrite=overwrite, holds=holds, writes=(PAGE,))
