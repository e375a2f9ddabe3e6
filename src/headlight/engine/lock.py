"""Lock of the folder of a run, which keeps other runs out."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from headlight import files
from headlight.errors import ResultError, RunError, setting
from headlight.files import Location

LOCK = ".lock"


@contextmanager
def locked(folder: Location) -> Iterator[None]:
    """Make the folder if need be, keep other runs out of it, and clear away what killed ones left.

    The operating system releases the lock when the process ends, however it ends.  A store has no
    locks: there, nothing keeps a second process out.  A folder in which nothing was written is not
    left behind.

    Raises:
        RunError: the folder cannot be made or written to, or another process works in it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_made(folder))
            if isinstance(folder, Path):
                stack.enter_context(_taken(folder))
                files.remove_partials(folder)
        except Timeout:
            raise RunError(
                f"{folder} is in use by another run (process {_owner(folder)}); wait for it, or "
                f"choose another folder with {setting('out=')}."
            ) from None
        except OSError as problem:
            raise RunError(f"{folder} cannot be used: {files.reason(problem)}.") from problem
        yield


def check_unlocked(folder: Location) -> None:
    """Make the folder if need be, and refuse it if a process has it to itself.

    Raises:
        RunError: it cannot be made, or another process works in it alone.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(folder, Path):
            with FileLock(folder / LOCK).acquire(timeout=2):  # others look as well
                (folder / LOCK).unlink(missing_ok=True)  # while it is ours, and nobody else's
    except Timeout:
        raise RunError(
            f"{folder} is in use by a run without workers (process {_owner(folder)}); wait for it, "
            "or stop it and try again."
        ) from None
    except OSError as problem:
        raise RunError(f"{folder} cannot be used: {files.reason(problem)}.") from problem


@contextmanager
def _made(folder: Location) -> Iterator[None]:
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if is_new and isinstance(folder, Path):
            with suppress(OSError):  # something is in it
                folder.rmdir()


@contextmanager
def _taken(folder: Path) -> Iterator[None]:
    path = folder / LOCK
    with FileLock(path).acquire(blocking=False):
        with suppress(OSError):  # Windows lets nobody write to a locked file
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | _NO_LINKS)
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{os.getpid()}\n")
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it when it lets go of it
                path.unlink()


def _owner(folder: Location) -> str:
    with suppress(ResultError, ValueError):
        return str(int(files.read(folder / LOCK, refuse_links=True, most=_NUMBER)))
    return "unknown"


_NUMBER = 64
"""Bytes of the number of a process."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
