"""The only place that prints: whatever a terminal cannot show, it gets something that it can.

Everything that a command says goes through `say`, `show`, `say_json` and `complain`, which write
out what a terminal would obey.  `guarded_terminal` stands around the whole program: characters that
the encoding lacks are written out, too, and a full disk or a reader that went away does not end
the work, whose files are what counts; the exit code tells of it afterwards.
"""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from headlight.files import printable, reason, storable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

NARROWEST = 40
"""Columns for which is laid out at least; a terminal that has fewer breaks the lines itself."""

LONGEST = 3_000
"""Characters of a sentence that is said on standard error: files may hold words of any length."""

BROKEN_PIPE = 141
"""What a shell reports of a program whose reader went away."""

UNWRITABLE = 1
"""The exit code where all went well but for what was to be printed."""


def say(sentence: object) -> None:
    """Print one line."""
    print(printable(storable(sentence)))  # noqa: T201


def complain(sentence: object) -> None:
    """Print one line on standard error; of one that quotes a whole file, both ends."""
    said = storable(sentence)
    if len(said) > LONGEST:
        said = f"{said[: LONGEST * 2 // 3]} … {said[-LONGEST // 3 :]}"
    print(printable(said), file=sys.stderr)  # noqa: T201


def say_json(value: Any) -> None:
    """Print JSON in one line, in ASCII, so that it is the same JSON in every encoding."""
    print(json.dumps(value).replace("\x7f", r"\u007f"))  # noqa: T201


def say_lines(texts: Iterable[str]) -> None:
    """Print lines of data as they are, each text with its own line breaks; to a terminal safely."""
    for text in texts:
        shown = storable(text)
        if sys.stdout.isatty():
            lines = (line.split("\t") for line in shown.split("\n"))
            shown = "\n".join("\t".join(map(printable, fields)) for fields in lines)
        print(shown, end="")  # noqa: T201


def show(renderable: "RenderableType", *, soft_wrap: bool = False) -> None:
    """Print a table or the like, as wide as the terminal is, or with ``soft_wrap`` as it is."""
    from rich.console import Console

    Console().print(_Harmless(renderable), soft_wrap=soft_wrap)


class _Harmless:
    """Renderable with its control characters written out, which a terminal would obey."""

    def __init__(self, renderable: "RenderableType") -> None:
        self._renderable = renderable

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterable[Segment]":
        """The segments of it."""
        for segment in console.render(self._renderable, options):
            text = "\n".join(map(printable, segment.text.split("\n")))
            yield segment._replace(text=text)


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
