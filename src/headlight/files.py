"""Writing a file whole or not at all."""

import errno
import os
from pathlib import Path

from headlight.errors import HeadlightError, ResultError

_PLAIN = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.EROFS: "the folder is read-only; choose another place",
    errno.EACCES: "the folder may not be written to; choose another place",
    errno.EPERM: "the folder may not be written to; choose another place",
    errno.ENOENT: "there is no such folder; create it first",
    errno.ENOTDIR: "a part of that path is a file, not a folder; choose another place",
    errno.EISDIR: "that is a folder; give the name of a file",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def write(path: Path, content: bytes, *, error: type[HeadlightError] = ResultError) -> None:
    """Put `content` at `path`, so that the old file or the new one is there at any moment.

    The bytes go to a temporary name in the same folder, reach the disk, and take the final name
    in one step. Whatever goes wrong, the temporary file is removed and an old file stays as it was.

    Args:
        path: The file to write; its folder must exist.
        content: All of the file.
        error: The class of the refusal, which depends on what the file is for.

    Raises:
        HeadlightError: of class `error`, when the disk is full, the folder is read-only, and so on.
    """
    # The process number keeps apart two programs that write the same file at the same time.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _write_through(partial, content)
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as problem:
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem
    finally:
        _discard(partial)


def make_folder(path: Path, *, error: type[HeadlightError] = ResultError) -> Path:
    """The folder `path`, existing, with those above it.

    Raises:
        HeadlightError: of class `error`, when it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise error(f"{path} cannot be made: {reason(problem)}.") from problem
    return path


def remove_partials(path: Path) -> None:
    """Clear away what processes that were killed while writing `path` have left beside it."""
    for partial in path.parent.glob(f".{path.name}.*.partial"):
        _discard(partial)


def reason(problem: OSError) -> str:
    """What an error of the operating system means, in plain words."""
    return _PLAIN.get(problem.errno or 0) or problem.strerror or str(problem)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # the folder became unwritable: the first error says so already
        return
