"""Reading and writing files whole or not at all, here or in a store such as ``s3://``.

A place is a `Path` of this machine or a `UPath` of a store that fsspec has a driver for; both are
used alike.
"""

import errno
import io
import json
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from headlight.errors import HeadlightError, ResultError, UsageError

if TYPE_CHECKING:
    from upath import UPath
else:

    class _UPath(type):
        def __instancecheck__(cls, place: Any) -> bool:
            # No place can be in a store before `location` has loaded the library, which is slow.
            stores = sys.modules.get("upath")
            return stores is not None and isinstance(place, stores.UPath)

    class UPath(metaclass=_UPath):
        """Stand-in for the class, in annotations and for `isinstance`."""


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

_UNREADABLE = {
    errno.EACCES: "you may not read it, or not enter a folder above it",
    errno.EPERM: "you may not read it, or not enter a folder above it",
    errno.ENOENT: "there is no such file",
    errno.ELOOP: "it is a link, which may lead anywhere; name the file that it leads to",
    errno.ENXIO: "it is a socket or a device; save it to a file",
    errno.ENAMETOOLONG: "the name is too long",
}

LARGEST = 1 << 32
"""Maximum number of bytes of a file that is read as a whole; a larger one could fill the memory."""
LARGEST_JSON = 1 << 28
"""Maximum number of bytes of a JSON file, which takes several times as many in memory."""
DEEPEST = 100
"""Maximum number of levels of JSON; functions that call themselves run out of stack beyond it."""

_ATTEMPTS = 5
"""Attempts to write a file whose temporary name others remove."""
_PARTIAL = re.compile(r"\..+\.\d+\.partial")
WINDOWS = os.name == "nt"
# Not every system has these flags: O_BINARY is of Windows alone, and the other two of all others.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def location(path: str | Location, *, error: type[HeadlightError] = ResultError) -> Location:
    """Return the place that a user names: a path, or the address of a store (``s3://bucket/x``).

    Raises:
        HeadlightError: Of class `error`: there is no driver for such addresses, the name is too
            long, or a folder may not be entered.
    """
    protocol, separator, _ = str(path).partition("://")
    if isinstance(path, Path) or not (separator or not isinstance(path, str)):
        return check_reachable(path if isinstance(path, Path) else Path(path), error=error)
    if not isinstance(path, str):
        return path
    from upath import UPath

    try:
        place = UPath(path)
        _ = place.fs  # loads the driver
    except Exception as problem:  # each driver fails in its own way when a library is missing
        raise error(f"{path} cannot be used: {reason(problem)}.") from problem
    return Path(place.path) if protocol == "file" else place


def check_reachable(path: Path, *, error: type[HeadlightError] = ResultError) -> Path:
    """Return `path` if it can be looked at; whether it exists does not matter.

    Raises:
        HeadlightError: Of class `error`: the name is too long or none of a file, or a folder may
            not be entered: that of the file, or `path` itself.
    """
    try:
        # The dot asks of a folder whether it may be entered, and not only whether it can be seen.
        os.stat(f"{path}{os.sep}.")  # noqa: PTH116 - pathlib leaves out the dot
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as problem:  # a NUL character
        raise _unreadable(path, problem, error) from problem
    return path


def open_file(
    path: Location, *, refuse_links: bool = False, error: type[HeadlightError] = ResultError
) -> Any:
    """Open a regular file for reading, without waiting for the other end of a pipe.

    Args:
        path: File to open.
        refuse_links: Whether to refuse a link. A file that Headlight names itself may lie in a
            folder that somebody else has filled with links to private files.
        error: Class of the refusal.

    Raises:
        HeadlightError: Of class `error`: there is no such file, it is a folder, a pipe, a device or
            a refused link, or it cannot be opened.
    """
    if not isinstance(path, Path):
        try:
            return path.open("rb")
        except Exception as problem:  # every driver raises errors of its own
            raise _unreadable(path, problem, error) from problem
    try:
        if refuse_links and path.is_symlink():
            raise OSError(errno.ELOOP, "")
        # Checked before it is opened, since some devices act when they are, and again afterwards,
        # since another file may have taken its place meanwhile.
        _check_regular(path, path.stat(), error)
        descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | (_NO_LINKS if refuse_links else 0))
        try:
            _check_regular(path, os.fstat(descriptor), error)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem, error) from problem


def read(
    path: Location,
    *,
    refuse_links: bool = False,
    most: int = LARGEST,
    error: type[HeadlightError] = ResultError,
) -> bytes:
    """Return the content of a regular file.

    Args:
        path: File to read.
        refuse_links: Whether to refuse a link, see `open_file`.
        most: Maximum number of bytes.
        error: Class of the refusal.

    Raises:
        HeadlightError: Of class `error`: see `open_file`; or the file has more bytes.
    """
    with open_file(path, refuse_links=refuse_links, error=error) as file:
        try:
            size = os.fstat(file.fileno()).st_size if isinstance(path, Path) else 0
            # A byte more than allowed: a file may grow while it is read, and a store tells no size.
            content = b"" if size > most else file.read(most + 1)
        except Exception as problem:  # every driver raises errors of its own
            raise _unreadable(path, problem, error) from problem
    if max(size, len(content)) > most:
        raise error(
            f"{path} cannot be read: it has more than {most:,} bytes, which no such file has."
        )
    return content


def read_json(
    path: Location, *, refuse_links: bool = True, error: type[HeadlightError] = ResultError
) -> Any:
    """Return the value in a JSON file; links are refused by default.

    Raises:
        HeadlightError: Of class `error`, see `read`.
        ValueError: The file is no JSON, or nested more than `DEEPEST` levels.
    """
    return parse_json(read(path, refuse_links=refuse_links, most=LARGEST_JSON, error=error))


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text that somebody else may have written.

    Raises:
        ValueError: It is no JSON, or nested more than `DEEPEST` levels.
    """
    try:
        value = json.loads(text)
    except RecursionError as problem:
        raise ValueError(f"more than {DEEPEST} levels of JSON") from problem
    # Level by level: a walk that calls itself would run out of stack on what it is to refuse.
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _values(outer) if isinstance(inner, _NESTED)]
        if not level:
            return value
    raise ValueError(f"more than {DEEPEST} levels of JSON")


_NESTED = (dict, list)


def _values(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _check_regular(path: Path, status: os.stat_result, error: type[HeadlightError]) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise error(f"{storable(path)} cannot be read: it is {kind}; give a file.")


def _unreadable(path: Location, problem: Exception, error: type[HeadlightError]) -> HeadlightError:
    return error(f"{storable(path)} cannot be read: {why_unread(problem)}.")


def why_unread(problem: Exception) -> str:
    """Return in plain words why something cannot be read."""
    number = problem.errno if isinstance(problem, OSError) else None
    if isinstance(problem, FileNotFoundError):  # drivers of stores give no number
        number = errno.ENOENT
    return _UNREADABLE.get(number or 0) or reason(problem)


def standard_input() -> io.BufferedIOBase:
    """Return the stream that ``-`` stands for.

    Raises:
        UsageError: The stream is closed.
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
        path: File to write; its folder must exist.
        content: Whole content of the file.
        error: Class of the refusal, which depends on the use of the file.

    Raises:
        HeadlightError: Of class `error`: the disk is full, the folder is read-only, and so on.
    """
    write_parts(path, lambda: [content], error=error)


def write_parts(
    path: Location,
    parts: Callable[[], Iterable[bytes]],
    *,
    error: type[HeadlightError] = ResultError,
) -> None:
    """Put parts at `path`, one behind the other, as `write` puts a whole content.

    On this machine memory holds one part at a time; a store is given the whole object.

    Args:
        path: File to write; its folder must exist.
        parts: Function that makes the parts, again where the file has to be begun again.
        error: Class of the refusal.
    """
    if not isinstance(path, Path):
        _upload(path, b"".join(parts()), error)
        return
    try:
        _put(path, parts, lambda partial: partial.replace(path))
    except (OSError, ValueError) as problem:  # a NUL character
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem


def write_new(path: Location, content: bytes, *, error: type[HeadlightError] = ResultError) -> bool:
    """Put `content` at `path`, whole, unless there is a file already; return whether it was put.

    Of several processes that try this at once, on any machine that sees the folder, one succeeds.

    Raises:
        HeadlightError: Of class `error`: the file cannot be written.
    """
    if not isinstance(path, Path):
        try:
            path.fs.pipe_file(path.path, content, mode="create")
        except FileExistsError:
            return False
        except Exception as problem:  # every driver raises errors of its own
            raise error(f"{path} cannot be written: {reason(problem)}.") from problem
        return True
    try:
        # A hard link fails where the name is taken, also over NFS; a new name would replace it.
        _put(path, lambda: [content], lambda partial: os.link(partial, path))
    except FileExistsError:
        return False
    except (OSError, ValueError) as problem:  # a NUL character
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem
    return True


def _put(
    path: Path, parts: Callable[[], Iterable[bytes]], give_name: Callable[[Path], object]
) -> None:
    """Write a file under a temporary name beside its place, and then give it its name.

    Raises:
        OSError: It cannot be written.
    """
    partial = partial_path(path)
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            _discard(partial)
            _write_through(partial, parts())
            try:
                give_name(partial)
                break
            except FileNotFoundError:
                # A process that resumes the run may have taken the temporary file for one that a
                # killed process has left, and removed it: it is written again.
                if attempt == _ATTEMPTS or not path.parent.is_dir():
                    raise
        _sync_folder(path.parent)
    finally:
        _discard(partial)


def begun_file(path: Path) -> IO[bytes]:
    """Open a file that is written piece by piece, as it is, or make it; a link is not followed.

    Raises:
        OSError: The file cannot be written, is a link, or is none that can be continued.
    """
    flags = os.O_RDWR | os.O_CREAT | _NO_LINKS | _NO_WAIT
    return os.fdopen(os.open(path, flags, 0o666), "r+b")


def append(path: Path, content: bytes) -> None:
    """Add `content` to the end of a file, in one step, or make it; a link is not followed.

    Raises:
        OSError: The file cannot be written, or is a link.
    """
    # One unbuffered write with O_APPEND: lines of processes that append at once do not mix.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINKS, 0o666)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(content)


def age(path: Location) -> float:
    """Return the seconds since a file was written.

    Raises:
        OSError: There is no such file.
    """
    if isinstance(path, Path):
        return time.time() - path.stat().st_mtime
    written: float = path.fs.modified(path.path).timestamp()
    return time.time() - written


def make_folder(path: L, *, error: type[HeadlightError] = ResultError) -> L:
    """Make a folder and those above it where they are missing, and return it.

    Raises:
        HeadlightError: Of class `error`: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # a NUL character
        raise error(f"{path} cannot be made: {reason(problem)}.") from problem
    return path


def partial_path(path: Path) -> Path:
    """Return the path at which a file is written before it is given its name.

    The numbers of process and thread keep apart those that write the same file at the same time;
    of a long name the beginning is kept, so that there is room for them.
    """
    name = os.fsdecode(os.fsencode(path.name)[:200])
    return path.with_name(f".{name}.{os.getpid()}.{threading.get_native_id()}.partial")


def remove_partials(folder: Path) -> None:
    """Remove files that killed processes have left half written in a folder, not in those in it.

    Nobody else may be writing there.
    """
    for path in folder.glob(".*.partial"):
        if _PARTIAL.fullmatch(path.name):
            _discard(path)


def remove_empty(folder: Location) -> None:
    """Remove a folder of this machine if it is empty; stores have no folders."""
    # Drivers of stores would remove what lies below the address.
    if isinstance(folder, Path) and not folder.is_symlink():
        with suppress(OSError):  # it holds something
            folder.rmdir()


def is_link(path: Location) -> bool:
    """Whether a name stands for a place elsewhere, where nothing is to be removed."""
    return isinstance(path, Path) and path.is_symlink()


def reason(problem: Exception) -> str:
    """Return an operating system's error in plain words; a driver's as it is."""
    if isinstance(problem, OSError):
        plain = _PLAIN.get(problem.errno or 0) or problem.strerror
        if plain:
            return plain
    if isinstance(problem, KeyError):
        return f"it lacks {problem}"
    sentence = next(filter(None, map(str.strip, str(problem).splitlines())), "").rstrip(".")
    if not sentence and isinstance(problem, EOFError):
        return "it ends too early"
    return sentence or f"there was a {type(problem).__name__} without a reason"


def _upload(path: UPath, content: bytes, error: type[HeadlightError]) -> None:
    try:
        path.write_bytes(content)
    except Exception as problem:  # every driver raises errors of its own
        raise error(f"{path} cannot be written: {reason(problem)}.") from problem


def _write_through(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("xb") as file:  # made here, and no link that somebody laid in the way
        file.writelines(parts)
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
    with suppress(OSError, ValueError):  # raised before, when the file was written
        path.unlink(missing_ok=True)


def printable(text: str) -> str:
    """Return a text with characters that a terminal obeys, such as escape codes, spelt out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def storable(text: object) -> str:
    """Return a text that can be stored, whatever bytes the names of files hold."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
