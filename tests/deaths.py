"""Processes that are killed at a chosen moment of writing, as if the machine lost its power.

A child of this process does the work; what it does to files of a folder is counted, and at the
chosen moment it kills itself, so that nothing of its own can tidy up.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight import files

KINDS = ("open", "half", "written", "synced", "rename", "named", "remove", "any")
"""Before a file is opened to write; when half of it is written, or all; when it has reached the
disk; before it gets its name, and when it has; before something is removed; any of these."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be split here")

_REMOVING = ("os.remove", "os.rmdir", "shutil.rmtree")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def killed(work: Callable[[], object], folder: Path, kind: str, number: int) -> bool:
    """Do the work in a child that dies at the moment of this kind and number, counted from 1.

    Returns:
        Whether it died; False if it came to its end before.
    """
    status = _in_child(work, lambda: _Watch(folder, kind, number))
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def finished(work: Callable[[], object]) -> None:
    """Do the work in a child that may live."""
    assert os.waitstatus_to_exitcode(_in_child(work, lambda: None)) == 0


def killed_beside(
    work: Callable[[], object], other: Callable[[], object], folder: Path, kind: str, number: int
) -> bool:
    """The same as `killed`, while other work is done in the folder by a child that may live."""
    beside = _begun(other, lambda: None)
    died = killed(work, folder, kind, number)
    assert os.waitstatus_to_exitcode(os.waitpid(beside, 0)[1]) == 0
    return died


def random_kills(
    work: Callable[[], object],
    folder: Path,
    number: int,
    generator: np.random.Generator,
    first: int = 0,
) -> int:
    """Kill it so many times at the latest, each time at a moment of another kind, and finish it.

    Args:
        work: writes into the folder.
        folder: whose moments are counted.
        number: of kills.
        generator: of the moments.
        first: of `KINDS`, with which it begins.

    Returns:
        How often it was killed before it was done.
    """
    died = 0
    for place in range(first, first + number):
        kind = KINDS[place % len(KINDS)]
        if not killed(work, folder, kind, int(generator.integers(1, 5))):
            break
        died += 1
    finished(work)
    return died


def _in_child(work: Callable[[], object], prepare: Callable[[], object]) -> int:
    return os.waitpid(_begun(work, prepare), 0)[1]


def _begun(work: Callable[[], object], prepare: Callable[[], object]) -> int:
    """Begin the work in a child; returns its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of this process sleep
        child = os.fork()
    if child:
        return child
    try:
        prepare()
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, the child must not go on as a test
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


class _Watch:
    """Counts the moments of a kind from now on, and dies at one; there is no way back."""

    def __init__(self, folder: Path, kind: str, number: int) -> None:
        self._folder = str(folder)
        self._kind = kind
        self._left = number
        self._fsync, self._replace = os.fsync, os.replace
        os.fsync, os.replace = self._synced, self._replaced
        files._write_through = self._write_through
        sys.addaudithook(self._hear)

    def _moment(self, name: str) -> None:
        if self._kind in (name, "any"):
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not arguments or not str(arguments[0]).startswith(self._folder):
            return
        if event in _REMOVING:
            self._moment("remove")
        elif event == "os.rename":
            self._moment("rename")
        elif event == "open" and arguments[2] & _WRITING:
            self._moment("open")

    def _synced(self, descriptor: int) -> None:
        self._moment("written")
        self._fsync(descriptor)
        self._moment("synced")

    def _replaced(self, source: Any, target: Any, **more: Any) -> None:
        self._replace(source, target, **more)
        self._moment("named")

    def _write_through(self, path: Path, parts: Iterable[bytes]) -> None:
        content = b"".join(parts)
        with path.open("xb", buffering=0) as file:
            file.write(content[: len(content) // 2])
            self._moment("half")
            file.write(content[len(content) // 2 :])
            os.fsync(file.fileno())
