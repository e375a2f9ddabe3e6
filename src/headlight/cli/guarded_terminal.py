"""Guard of the standard streams while the program runs.

Characters that the encoding lacks are written as escapes.  A full disk or a closed pipe does not
end the work, whose files matter more than its output; the exit code reports it at the end.
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
"""Minimum number of columns of the layout; a narrower terminal wraps the lines itself."""

BROKEN_PIPE = 141
"""Exit code by which shells report that the reader of a program closed the pipe."""

UNWRITABLE = 1
"""Exit code of a program that did its work, but could not print its output."""


class GuardedStream:
    """Standard stream that discards its output after a failure, and remembers the failure.

    Args:
        stream: Stream to guard, such as `sys.stdout`.

    Attributes:
        failure: First error of the stream; None before any.
    """

    def __init__(self, stream: Any) -> None:
        self.failure: OSError | None = None
        self._stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or discard it after a failure; return its length."""
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream, if it has not failed."""
        self._attempt(self._stream.flush)

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return bool(self._stream.isatty())

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as problem:
            self.failure = self.failure or problem
            self._silence()

    def _silence(self) -> None:
        # Python flushes what is still buffered when it exits, and would fail once more.
        with suppress(OSError):  # a stream in memory has no descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def guarded_terminal() -> Iterator[GuardedStream]:
    """Guard the streams and the width of the terminal; yield the stream of standard output."""
    before = sys.stdout, sys.stderr
    columns = os.environ.get("COLUMNS")
    _occupy_closed_descriptors()
    output, errors = (GuardedStream(stream or _nowhere()) for stream in before)
    sys.stdout, sys.stderr = cast("TextIO", output), cast("TextIO", errors)
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)  # rich and the parser read it
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdout, sys.stderr = before
        _set_columns(columns)


def exit_code(failure: OSError | None) -> int:
    """Return the exit code of a program that did its work; report output that was lost.

    Args:
        failure: First error of standard output; None if there was none.
    """
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
    # A file opened later would get the number of a closed stream, and libraries write to it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
