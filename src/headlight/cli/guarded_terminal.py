"""Guard of the streams of the program, around all of it.

Characters that the encoding lacks are written out, and a full disk or a reader that went away does
not end the work, whose files are what counts; the exit code tells of it afterwards.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from headlight.cli.printing import complain
from headlight.files import reason

NARROWEST = 40
"""Columns for which is laid out at least; a terminal that has fewer breaks the lines itself."""

BROKEN_PIPE = 141
"""Exit code that a shell reports of a program whose reader went away."""

UNWRITABLE = 1
"""The exit code where all went well but for what was to be printed."""


class GuardedStream:
    """A standard stream that goes on silently after a failure, and remembers it.

    Args:
        stream: What stands for the stream, such as `sys.stdout`.

    Attributes:
        failure: The first one.
    """

    def __init__(self, stream: Any) -> None:
        self.failure: OSError | None = None
        self._stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Take some text."""
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Pass it on."""
        self._attempt(self._stream.flush)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return bool(self._stream.isatty())

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as problem:
            self.failure = self.failure or problem
            self._silence()

    def _silence(self) -> None:
        """Send what still waits to be written nowhere, instead of failing again at exit."""
        with suppress(OSError):  # of a stream without a descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def guarded_terminal() -> Iterator[GuardedStream]:
    """Guard the streams and the width while a program runs; gives the stream of the output."""
    before = sys.stdout, sys.stderr
    columns = os.environ.get("COLUMNS")
    _occupy_closed_descriptors()
    output, errors = (GuardedStream(stream or _nowhere()) for stream in before)
    sys.stdout, sys.stderr = cast("TextIO", output), cast("TextIO", errors)
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)  # where rich and the parser look
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdout, sys.stderr = before
        _set_columns(columns)


def exit_code(failure: OSError | None) -> int:
    """The exit code of a program that did its work, and what became of its output."""
    if failure is None:
        return 0
    if failure.errno == errno.EPIPE:
        return BROKEN_PIPE
    complain(f"error: standard output cannot be written: {reason(failure)}.")
    return UNWRITABLE


def _set_columns(columns: str | None) -> None:
    if columns is None:
        os.environ.pop("COLUMNS", None)
    else:
        os.environ["COLUMNS"] = columns


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123


def _occupy_closed_descriptors() -> None:
    """Keep files from getting the number of a closed standard stream, to which libraries write."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
