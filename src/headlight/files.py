"""Reading and writing files whole or not at all, here or in a store such as ``s3://``.

A place is a `Path` of this machine or a `UPath` of a store that fsspec has a driver for; both are
used alike.
"""

import errno
import io
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headlight.errors import HeadlightError, ResultError, UsageError

if TYPE_CHECKING:
    from upath import UPath
else:

    class _UPath(type):
        def __instancecheck__(cls, place: Any) -> bool:
            stores = sys.modules.get("upath")  # which nothing loads before the first address
            return stores is not None and isinstance(place, stores.UPath)

    class UPath(metaclass=_UPath):
        """Stands for the class in annotations and where it is asked what something is."""


Location = Path | UPath
"""A file or folder: on this machine, or in a store."""
L = TypeVar("L", bound=Location)

_PLAIN = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EROFS: "the folder is read-only; choose another place",
    errno.EACCES: "the folder may not be written to; choose another place",
    errno.EPERM: "the folder may not be written to; choose another place",
    errno.ENOENT: "there is no such folder; create it first",
    errno.ENOTDIR: "a part of that path is a file, not a folder; choose another place",
    errno.EISDIR: "that is a folder; give the name of a file",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}
if hasattr(errno, "EDQUOT"):  # Windows has no quota
    _PLAIN[errno.EDQUOT] = "the disk quota is used up; free some space or choose another place"

_PARTIAL = re.compile(r"\..+\.\d+\.partial")
WINDOWS = os.name == "nt"


def location(path: str | Location, *, error: type[HeadlightError] = ResultError) -> Location:
    """What a user calls a place: a path, or the address of a store (``s3://bucket/folder``).

    Raises:
        HeadlightError: of class `error`, when there is no driver for such addresses.
    """
    if not isinstance(path, str):
        return path
    protocol, separator, _ = path.partition("://")
    if not separator:
        return Path(path)
    from upath import UPath

    try:
        found = UPath(path)
        _ = found.fs  # loads the driver
    except Exception as problem:  # each driver fails in its own way when a library is missing
        raise error(f"{path} cannot be used: {reason(problem)}.") from problem
    return Path(found.path) if protocol == "file" else found


def read(path: Location, *, error: type[HeadlightError] = ResultError) -> bytes:
    """All of a file.

    Raises:
        HeadlightError: of class `error`, when there is no such file, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as problem:
        raise error(f"{path} cannot be read: there is no such file.") from problem
    except Exception as problem:  # every driver raises errors of its own
        why = problem.strerror if isinstance(problem, OSError) else None
        raise error(f"{path} cannot be read: {why or reason(problem)}.") from problem


def standard_input() -> io.BufferedIOBase:
    """What stands behind ``-``.

    Raises:
        UsageError: the stream is closed.
    """
    if sys.stdin is None:
        raise UsageError(
            "standard input is closed, and cannot be read; name a file, or send text to it."
        )
    return cast("io.BufferedIOBase", sys.stdin.buffer)


def write(path: Location, content: bytes, *, error: type[HeadlightError] = ResultError) -> None:
    """Put `content` at `path`, so that the old file or the new one is there at any moment.

    On this machine the bytes go to a temporary name in the same folder, reach the disk, and take
    the final name in one step; whatever goes wrong, the temporary file is removed and an old file
    stays as it was.  A store is given the whole object in one request.

    Args:
        path: The file to write; its folder must exist.
        content: All of the file.
        error: The class of the refusal, which depends on what the file is for.

    Raises:
        HeadlightError: of class `error`, when the disk is full, the folder is read-only, and so on.
    """
    if not isinstance(path, Path):
        _upload(path, content, error)
        return
    partial = partial_path(path)
    try:
        _discard(partial)
        _write_through(partial, content)
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as problem:
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem
    finally:
        _discard(partial)


def write_new(path: Location, content: bytes, *, error: type[HeadlightError] = ResultError) -> bool:
    """Put `content` at `path`, whole, unless there is a file already; whether it was done.

    Of several processes that try this at once, on any machine that sees the folder, one succeeds.

    Raises:
        HeadlightError: of class `error`, when the file cannot be written.
    """
    if not isinstance(path, Path):
        try:
            path.fs.pipe_file(path.path, content, mode="create")
        except FileExistsError:
            return False
        except Exception as problem:  # every driver raises errors of its own
            raise error(f"{path} cannot be written: {reason(problem)}.") from problem
        return True
    partial = partial_path(path)
    try:
        _discard(partial)
        _write_through(partial, content)
        os.link(partial, path)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as problem:
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem
    finally:
        _discard(partial)
    return True


def age(path: Location) -> float:
    """Seconds since a file was written.

    Raises:
        OSError: there is no such file.
    """
    if isinstance(path, Path):
        return time.time() - path.stat().st_mtime
    written: float = path.fs.modified(path.path).timestamp()
    return time.time() - written


def make_folder(path: L, *, error: type[HeadlightError] = ResultError) -> L:
    """The folder `path`, existing, with those above it.

    Raises:
        HeadlightError: of class `error`, when it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise error(f"{path} cannot be made: {reason(problem)}.") from problem
    return path


def partial_path(path: Path) -> Path:
    """Where a file is written before it is given its name.

    The numbers of process and thread keep apart those that write the same file at the same time.
    """
    return path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.partial")


def remove_partials(folder: Path) -> None:
    """Clear away what killed processes have left half written in a folder, not in those in it.

    Nobody else may be writing there.
    """
    for path in folder.glob(".*.partial"):
        if _PARTIAL.fullmatch(path.name):
            _discard(path)


def is_link(path: Location) -> bool:
    """Whether a name stands for a place elsewhere, where nothing is to be removed."""
    return isinstance(path, Path) and path.is_symlink()


def reason(problem: Exception) -> str:
    """What an error of the operating system means, in plain words; what a driver says as it is."""
    if isinstance(problem, OSError):
        plain = _PLAIN.get(problem.errno or 0) or problem.strerror
        if plain:
            return plain
    lines = str(problem).splitlines() or [type(problem).__name__]
    return lines[0].rstrip(".")


def _upload(path: UPath, content: bytes, error: type[HeadlightError]) -> None:
    try:
        path.write_bytes(content)
    except Exception as problem:  # every driver raises errors of its own
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem


def _write_through(path: Path, content: bytes) -> None:
    with path.open("xb") as file:  # made here, and no link that somebody laid in the way
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last through a power cut."""
    if WINDOWS:  # opens no folders
        return
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


def printable(text: str) -> str:
    """The text with what a terminal or a page would obey, such as escape codes, written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def storable(text: object) -> str:
    """Text that can be stored, whatever bytes the names of files hold."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
