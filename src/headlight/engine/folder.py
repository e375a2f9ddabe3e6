"""The folder of a run: as it is requested, and as one process has it open."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headlight.catalogue.writers import REPORT as REPORT, RESULT, TABLES
from headlight.engine.checkpoint import FILE as CHECKPOINT
from headlight.engine.claims import workers_at
from headlight.engine.file_names import PASS, PLAN, SHARED
from headlight.engine.lock import LOCK, check_unlocked, locked
from headlight.engine.pass_folders import plans, refuse_link, remove_partials, remove_passes
from headlight.engine.work_folders import MARK, remove_work_folder
from headlight.errors import HeadlightError, RunError, UsageError, setting
from headlight.files import Location, location, make_folder, reason, write_new
from headlight.output_folder import RECORD, OutputFolder
from headlight.processes import usable_cores
from headlight.vocabulary import CORPUS_LABEL

CONFIG = "config.yaml"
PAGES = "pages"
KEPT = "kept"
"""Folder of the data behind the numbers, as studies of classifiers keep it."""
RAY = "ray"
JOIN = "join"
"""Setting of workers by which a process is one of any number that share a run."""
WRITABLE = ".writable"
"""Name of an empty object, written to a store for a moment to see whether it accepts any."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Requested folder of a run's state and result; `opened` gives it to this process.

    Attributes:
        path: Folder, or its address in a store (``s3://bucket/folder``), where nothing keeps a
            second process out; None keeps nothing.
        resume: Whether to resume the run in the folder, if there is one.
        overwrite: Whether to remove the run in the folder first; files that a run did not write
            stay, and one in the place of a file that this run will write is refused.
        workers: Number of processes that share the run, ``auto`` for as many as there are cores,
            or ``join`` for one of any number that were started elsewhere; None for this process
            alone.
        corpus_name: Name of the corpus in titles; None for the end of its own name.
        holds: Files and folders that show that there is a run.
        writes: Files that the run will write; before the work begins, it refuses to replace those
            that no run wrote.
    """

    path: Location | str | None = None
    resume: bool = False
    overwrite: bool = False
    workers: int | str | None = None
    corpus_name: str | None = None
    holds: tuple[str, ...] = (CHECKPOINT, PLAN, SHARED, RESULT, REPORT)
    writes: tuple[str, ...] = (CHECKPOINT, PLAN, SHARED, RESULT, REPORT, CONFIG)

    def __post_init__(self) -> None:
        if self.resume and self.overwrite:
            raise UsageError("a run is either resumed or overwritten; choose one of the two.")
        self._check_workers()

    def _check_workers(self) -> None:
        if self.workers is None:
            return
        number = isinstance(self.workers, int) or self.workers.isdecimal()
        if (
            not self.on_ray
            and self.workers not in ("auto", JOIN)
            and not (number and int(self.workers) > 0)
        ):
            raise UsageError(
                f"{setting('workers')} is {self.workers}, and must be a number of processes, auto, "
                "ray, ray://HOST:PORT, or join."
            )
        if self.path is None:
            raise UsageError(f"workers share a folder; name one with {setting('out=')}.")
        if self.workers == JOIN and self.overwrite:
            raise UsageError(
                "overwriting would remove what other workers have done; remove the folder before "
                "the first of them joins."
            )

    @property
    def shared(self) -> bool:
        """Whether several processes may work in it at once."""
        return self.workers is not None

    @property
    def on_ray(self) -> bool:
        """Whether workers are started on a Ray cluster."""
        return str(self.workers).partition("://")[0] == RAY

    @property
    def processes(self) -> int:
        """Return the number of processes on this machine, this one included."""
        if self.workers is None or self.workers == JOIN or self.on_ray:
            return 1
        return usable_cores() if self.workers == "auto" else int(self.workers)

    def check_free(self) -> None:
        """Refuse a folder with a run, a result or other files that the request does not allow for.

        Raises:
            UsageError: there are some.
            RunError: this is a file, or the folder cannot be looked into.
        """
        if self.path is None:
            return
        folder = location(self.path, error=RunError)
        try:
            if folder.exists() and not folder.is_dir():
                raise RunError(f"{folder} is a file; choose another folder with {setting('out=')}.")
            files = [name for name in self.holds if (folder / name).exists()]
            others = not (files or self.overwrite) and _holds_others_only(folder)
            refuse_link(folder / TABLES, "writes its tables")
        except HeadlightError:
            raise
        except Exception as problem:  # drivers of stores raise errors of their own
            raise RunError(f"{folder} cannot be used: {reason(problem)}.") from problem
        if files and not (self.resume or self.overwrite or self.shared):
            raise UsageError(
                f"{folder} holds a run already ({files[0]}); go on with {setting('resume=True')}, "
                f"start over with {setting('overwrite=True')}, or choose another folder with "
                f"{setting('out=')}."
            )
        if others:
            raise UsageError(
                f"{folder} holds something already, and no run; choose another folder with "
                f"{setting('out=')}, or write into it with {setting('overwrite=True')}, which "
                "removes and replaces none of it."
            )

    @property
    def place(self) -> Location | None:
        """Return the place of the folder."""
        return None if self.path is None else location(self.path, error=RunError)

    @contextmanager
    def opened(self) -> Iterator["OpenFolder"]:
        """Open the folder for this process: within the block it exists, without an unwanted run.

        Raises:
            UsageError: it holds a run, and the request does not say what should become of it.
            RunError: it cannot be made or written to, or another process works in it.
        """
        folder = self.place
        if folder is None:
            yield OpenFolder(self)
            return
        self.check_free()
        if self.shared and not self.overwrite:
            yield self._open_as_shared(folder)
            return
        with locked(folder):
            self.check_free()  # nobody has begun one meanwhile
            self._claim(folder)
            if not self.shared:
                with _beside_workers(OpenFolder(self)) as alone:
                    yield alone
                return
        # The lock is released: other workers may join from here on.
        yield replace(self, overwrite=False, resume=True)._open_as_shared(folder)

    def _open_as_shared(self, folder: Location) -> "OpenFolder":
        make_folder(folder, error=RunError)
        OutputFolder(folder).claim(self.writes)
        with _marked_as_shared(folder):
            check_unlocked(folder)
        return OpenFolder(self, shared=True)

    def _claim(self, folder: Location) -> None:
        """Clear the folder of unwanted files, and claim the files of the run in it."""
        output = OutputFolder(folder)
        try:
            _check_writable(folder)
            if isinstance(folder, Path):
                remove_partials(folder, (TABLES, PAGES, KEPT))
            if self.overwrite:
                _clear(output, self.holds, self.writes)
            output.claim(self.writes)
        except HeadlightError:
            raise
        except Exception as problem:  # drivers of stores raise errors of their own
            raise RunError(f"{folder} cannot be used: {reason(problem)}.") from problem


@dataclass(frozen=True)
class OpenFolder:
    """Folder of a run that this process may write to, see `RunFolder.opened`.

    Attributes:
        request: Folder as it was requested.
        shared: Whether other processes may work in it, too.
    """

    request: RunFolder
    shared: bool = False

    @property
    def place(self) -> Location | None:
        """Return the place of the folder; None where nothing is kept."""
        return self.request.place

    @property
    def output(self) -> OutputFolder | None:
        """Return the folder of the output at the end of the run; None where nothing is kept."""
        return None if self.place is None else OutputFolder(self.place)

    @property
    def resumed(self) -> bool:
        """Whether to resume from unfinished or finished work in the folder."""
        return self.request.resume or self.shared

    @property
    def overwrite(self) -> bool:
        """Whether an earlier run was to be removed from it."""
        return self.request.overwrite

    @property
    def labels(self) -> dict[str, str]:
        """Return the names chosen by the user that a result shows."""
        name = self.request.corpus_name
        return {CORPUS_LABEL: name} if name else {}

    def tidy(self) -> None:
        """Remove what is only needed to resume, once the run is at its end."""
        if self.place is not None:
            with suppress(Exception):  # the result is there, and this does no harm
                remove_passes(self.place)
                (self.place / SHARED).unlink(missing_ok=True)


NOWHERE = OpenFolder(RunFolder())
"""No folder: nothing is kept."""


@contextmanager
def _beside_workers(folder: OpenFolder) -> Iterator[OpenFolder]:
    """Yield a folder that was opened alone, as shared if workers are in it or have been."""
    output = folder.output
    assert output is not None  # noqa: S101 - it has a place
    joins = (output.place / SHARED).exists() or any(plans(output.place))
    try:
        yield replace(folder, shared=joins)
    finally:
        if not joins:  # others have noted files that they have not written yet
            with suppress(Exception):  # which says less than what happened before
                output.prune()


def _holds_others_only(folder: Location) -> bool:
    """Whether a folder holds something, and nothing in it is of Headlight."""
    inside = [entry for entry in folder.iterdir() if entry.name != LOCK] if folder.exists() else []
    marks = (MARK, PASS)
    return bool(inside) and not any(
        entry.name in (RECORD, SHARED, MARK) or any((entry / mark).exists() for mark in marks)
        for entry in inside
    )


@contextmanager
def _marked_as_shared(folder: Location) -> Iterator[None]:
    """Show a run without workers that there is one with workers, before there is a plan.

    At least one of the two sees the other: the run with workers marks the folder and then looks for
    the lock, and the run without them takes the lock and then looks for the mark.
    """
    try:
        is_first = write_new(make_folder(folder, error=RunError) / SHARED, b"", error=RunError)
    except HeadlightError:
        is_first = False
    try:
        yield
    except HeadlightError:
        if is_first:
            (folder / SHARED).unlink(missing_ok=True)
        raise


def _check_writable(folder: Location) -> None:
    """Fail before the work where a store would refuse its output; on a disk, the lock does so."""
    if not isinstance(folder, Path):
        probe = folder / WRITABLE
        probe.write_bytes(b"")
        probe.unlink()


def _clear(output: OutputFolder, holds: tuple[str, ...], writes: tuple[str, ...]) -> None:
    """Remove what a run wrote, except the configuration, from which it may be repeated."""
    folder = output.place
    if workers_at(folder):
        raise RunError(
            f"other processes work in {folder}; wait for them, or choose another folder "
            f"with {setting('out=')}."
        )
    output.claim(writes)  # refuses what no run wrote
    for place in (folder / name for name in holds):
        if isinstance(place, Path) and place.is_dir():
            remove_work_folder(place)
    kept_folder = folder / KEPT
    if isinstance(kept_folder, Path) and (kept_folder / MARK).exists():
        remove_work_folder(kept_folder)
    remove_passes(folder)
    output.remove(keep=(CONFIG,))
