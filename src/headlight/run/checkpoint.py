"""The state of a run on disk, from which another process can resume it."""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from headlight import files
from headlight.errors import ResultError, RunError, UsageError
from headlight.files import Location
from headlight.reduce import Tally
from headlight.run.example import NOTHING_SEEN

FILE = "checkpoint.safetensors"
LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come, and what it has found."""

    tally: Tally = field(default_factory=Tally)
    examples: int = 0
    tokens: int = 0
    digest: str = NOTHING_SEEN
    """Of the examples so far, see `digest_with`."""
    limit: int | None = None
    """The most tokens, padding included, that a batch may have; None while memory sufficed."""
    finished: bool = False
    """Whether the corpus is at its end."""


class Checkpoint:
    """The state of a run in a folder.

    State and tally are ONE file, so that one renaming commits both: a process that is killed at any
    moment leaves either the old state or the new one.

    Args:
        folder: The folder of the run.
        signature: All settings that the result depends on, as JSON.
    """

    def __init__(self, folder: Location, signature: Mapping[str, Any]) -> None:
        self.path = folder / FILE
        self.signature = json.loads(json.dumps(dict(signature)))  # as it will come back from disk

    def begin(self, *, resume: bool) -> State:
        """The state to begin with: that of the file if there is one, else nothing seen.

        Raises:
            UsageError: if there is a state, but the user does not want to go on from it.
            RunError: if the state is one of a run with other settings, or cannot be read.
        """
        if not self.path.exists():
            return State()
        if not resume:
            raise UsageError(
                f"{self.path.parent} holds a run already; go on with --resume, or choose another "
                "folder with --out."
            )
        return self._load()

    def save(self, state: State) -> None:
        """Replace the state on disk.

        Raises:
            RunError: if the disk is full, the folder is read-only, and so on.
        """
        counters = {name: getattr(state, name) for name in _COUNTERS}
        notes = {"state": counters, "signature": self.signature}
        state.tally.save(self.path, notes, error=RunError)

    def _load(self) -> State:
        try:
            tally, notes = Tally.load(self.path)
            signature, counters = notes["signature"], notes["state"]
            state = State(tally=tally, **{name: counters[name] for name in _COUNTERS})
        except (ResultError, KeyError, TypeError) as problem:
            raise RunError(
                f"{self.path} cannot be read ({problem}); remove it, or choose another folder "
                "with --out."
            ) from problem
        self._check(signature)
        return state

    def _check(self, found: Mapping[str, Any]) -> None:
        names = sorted(found.keys() | self.signature.keys())
        different = [name for name in names if found.get(name) != self.signature.get(name)]
        if different:
            changes = "; ".join(
                f"{name} was {_short(found, name)} and is now {_short(self.signature, name)}"
                for name in different
            )
            raise RunError(
                f"{self.path.parent} holds a run with other settings: {changes}. Repeat the old "
                "settings, or choose another folder with --out."
            )


@contextmanager
def locked(folder: Location) -> Iterator[None]:
    """Make the folder if need be, keep other runs out of it, and clear away what killed ones left.

    The operating system lets go of the lock when the process ends, however it ends.  A store has no
    locks: there, nothing keeps a second process out.  A folder in which nothing was written after
    all is not left behind.

    Raises:
        RunError: if the folder cannot be made or written to, or another process works in it.
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
                "choose another folder with --out."
            ) from None
        except OSError as problem:
            raise RunError(f"{folder} cannot be used: {files.reason(problem)}.") from problem
        yield


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
    _refuse_link(path)
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


def _refuse_link(path: Path) -> None:
    """Nothing is written into a file that has another name as well, or is no file."""
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise RunError(
                f"{path} is a link, or no file, and not the lock of a run; remove it, or choose "
                "another folder with --out."
            )


def _owner(folder: Location) -> str:
    """The number of the process that has the lock, as far as it can be read."""
    with suppress(OSError, ValueError):
        return str(int((folder / LOCK).read_text()))
    return "unknown"


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
_COUNTERS = tuple(each.name for each in fields(State) if each.name != "tally")


def _short(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "not set"
    text = json.dumps(settings[name], ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
