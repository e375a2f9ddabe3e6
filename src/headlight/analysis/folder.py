"""The folder of a run: what lies in it, and what may be replaced."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from headlight.errors import HeadlightError, RunError, UsageError
from headlight.files import Location, location, reason
from headlight.run.checkpoint import FILE as CHECKPOINT, locked

RESULT = "result.nc"
REPORT = "report.html"
TABLES = "tables"


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Where a run keeps its state and its result.

    Attributes:
        path: the folder, or its address in a store (``s3://bucket/folder``), where nothing keeps a
            second process out; None keeps nothing.
        resume: go on with the run in it, if there is one.
        overwrite: remove the run in it first; files that a run did not write stay.
        holds: files and folders that say that there is a run.
    """

    path: Location | str | None = None
    resume: bool = False
    overwrite: bool = False
    holds: tuple[str, ...] = (CHECKPOINT, RESULT, REPORT)

    def __post_init__(self) -> None:
        if self.resume and self.overwrite:
            raise UsageError("a run is either resumed or overwritten; choose one of the two.")

    def check_free(self) -> None:
        """Refuse a folder that holds a run or a result which nobody has spoken of.

        Raises:
            UsageError: there is one.
            RunError: this is a file, or the folder cannot be looked into.
        """
        if self.path is None:
            return
        folder = location(self.path, error=RunError)
        try:
            if folder.exists() and not folder.is_dir():
                raise RunError(f"{folder} is a file; choose another folder with --out.")
            found = [name for name in self.holds if (folder / name).exists()]
        except HeadlightError:
            raise
        except Exception as problem:  # drivers of stores raise errors of their own
            raise RunError(f"{folder} cannot be used: {reason(problem)}.") from problem
        if found and not (self.resume or self.overwrite):
            raise UsageError(
                f"{folder} holds a run already ({found[0]}); go on with --resume, begin anew with "
                "--overwrite, or choose another folder with --out."
            )

    def create(self) -> Location | None:
        """The folder, existing and free of an unwanted run.

        Raises:
            UsageError: it holds a run, and nobody has said what should become of it.
            RunError: it cannot be made, or another process works in it.
        """
        if self.path is None:
            return None
        self.check_free()
        folder = location(self.path, error=RunError)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder) if self.overwrite else nullcontext():
                if self.overwrite:
                    _clear(folder, self.holds)
        except OSError as problem:
            raise RunError(f"{folder} cannot be made: {reason(problem)}.") from problem
        return folder


def _clear(folder: Location, holds: tuple[str, ...]) -> None:
    """Remove what says that there was a run; tables are replaced when there are new ones."""
    for place in (folder / name for name in holds):
        if isinstance(place, Path) and place.is_dir():
            rmtree(place)
        else:
            place.unlink(missing_ok=True)
    for inner in folder.glob(f"*/{CHECKPOINT}"):  # of passes that have a folder of their own
        inner.unlink()
