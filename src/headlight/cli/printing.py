"""Output to a terminal, and the words of a command line.

The only place that prints: whatever a terminal cannot show, it gets something that it can.
Everything that a command says goes through `say`, `show`, `say_json` and `complain`, which write
out what a terminal would obey.  `guarded_terminal` stands around the whole program: characters that
the encoding lacks are written out, too, and a full disk or a reader that went away does not end
the work, whose files are what counts; the exit code tells of it afterwards.
"""

import errno
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from headlight.catalogue.study import STANDARD_INPUT
from headlight.errors import ResultError, UsageError
from headlight.files import parse_json, printable, read_json, reason, standard_input, storable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from headlight.corpora import Chat

NARROWEST = 40
"""Columns for which is laid out at least; a terminal that has fewer breaks the lines itself."""

LONGEST = 3_000
"""Characters of a sentence that is said on standard error: files may hold words of any length."""

BROKEN_PIPE = 141
"""Exit code that a shell reports of a program whose reader went away."""

UNWRITABLE = 1
"""The exit code where all went well but for what was to be printed."""


def say(sentence: object) -> None:
    """Print one line."""
    print(printable(storable(sentence)))  # noqa: T201


def complain(sentence: object) -> None:
    """Print one line on standard error; of one that quotes a whole file, both ends."""
    line = storable(sentence)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST * 2 // 3]} … {line[-LONGEST // 3 :]}"
    print(printable(line), file=sys.stderr)  # noqa: T201


def say_json(value: Any) -> None:
    """Print JSON in one line, in ASCII, so that it is the same JSON in every encoding."""
    print(json.dumps(value).replace("\x7f", r"\u007f"))  # noqa: T201


def say_lines(texts: Iterable[str]) -> None:
    """Print lines of data as they are, each text with its own line breaks; to a terminal safely."""
    for text in texts:
        printed = storable(text)
        if sys.stdout.isatty():
            lines = (line.split("\t") for line in printed.split("\n"))
            printed = "\n".join("\t".join(map(printable, fields)) for fields in lines)
        print(printed, end="")  # noqa: T201


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


def names(spec: str) -> list[str]:
    """The names in ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """Return the command as it was typed, and as it can be typed again."""
    return storable(shlex.join(["headlight", *sys.argv[1:]]))


def demand_place(path: Path | None, *suffixes: str) -> None:
    """Complain before the work about a file that could not be written after it."""
    if path is None:
        return
    if path.suffix not in suffixes:
        wanted = " or ".join(suffixes)
        raise UsageError(f"{path}: the name of this file must end in {wanted}.")
    try:
        in_folder, is_folder = path.parent.is_dir(), path.is_dir()
    except OSError as problem:
        raise UsageError(f"{path} cannot be written: {reason(problem)}.") from problem
    if not in_folder:
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if is_folder:
        raise UsageError(f"{path} is a folder; give the name of a file.")
    if not os.access(path.parent, os.W_OK):  # where it is written first, and then moved
        raise UsageError(f"{path}: the folder {path.parent} cannot be written to; name another.")


def text_argument(argument: str, command: str, name: str = "text") -> str:
    """Return what to read: the argument, or for ``-`` standard input without its line breaks.

    Args:
        argument: as it was typed.
        command: that reads it, for a refusal.
        name: what a refusal calls it.

    Raises:
        UsageError: there is no text in it, it is the name of a file, or it is not UTF-8.
    """
    from headlight.corpora.text import require_text

    text = argument
    if argument == STANDARD_INPUT:
        try:
            text = standard_input().read().decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as problem:
            raise UsageError("standard input is not UTF-8; convert it first.") from problem
    else:
        _refuse_file(argument, command)
    require_text(text, name)
    return text


def chat_argument(path: Path, *, system: str | None, template: bool) -> "Chat":
    """Return the chat in a file of JSON, or in standard input where that is named ``-``.

    Args:
        path: of the file.
        system: a system message; see `headlight.corpora.Chat.of`.
        template: whether the template of the model writes it.

    Raises:
        UsageError: there is no such file, or no chat in it.
    """
    from headlight.corpora import Chat

    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        if str(path) == STANDARD_INPUT:
            value = parse_json(standard_input().read())
        else:
            value = read_json(path, own=False, error=UsageError)
    except ValueError as problem:
        raise UsageError(
            f"{name} is not JSON ({problem}); give a list of messages, each with a role and a "
            "content (`headlight survey` reads a file with a chat a line)."
        ) from problem
    try:
        return Chat.of(value, system=system, template=template)
    except UsageError as problem:
        raise UsageError(f"{name}: {problem.marked()}") from problem


def _refuse_file(text: str, command: str) -> None:
    """Refuse the name of a file or folder that is here, where a text is read."""
    from headlight.corpora.file_kinds import SOUND
    from headlight.corpora.pictures import is_picture

    path, quoted = Path(text), shlex.quote(text)
    if not any(map(str.isalnum, text)) or not os.path.exists(text):  # noqa: PTH110 - any string
        return
    name = f"to read the name itself, `echo {quoted} | headlight {command} -`"
    if path.is_dir():
        raise UsageError(
            f"{text} is a folder here: `headlight survey {quoted}` reads the texts in it; {name}."
        )
    if path.suffix.lower() == SOUND:
        raise UsageError(
            f"{text} is a recording here: `headlight read --audio {quoted}`, with a model of "
            f"speech; {name}."
        )
    if is_picture(path):
        raise UsageError(
            f"{text} is a picture here: `headlight read --image {quoted}`, with an encoder of "
            f"pictures; {name}."
        )
    if kind := _kind_without_text(path):
        raise UsageError(f"{text} is {kind}; {name}.")
    raise UsageError(
        f"{text} is a file here: `headlight {command} - < {quoted}`, or `headlight survey "
        f"{quoted}`; {name}."
    )


def _kind_without_text(path: Path) -> str:
    """Return what a file without text is; nothing of any other, or one that cannot be read."""
    from headlight.corpora.file_kinds import LONGEST_START, kind_without_text
    from headlight.files import open_file

    with suppress(OSError, ResultError):
        if path.is_file():
            with open_file(path) as file:
                return kind_without_text(file.read(LONGEST_START), path.suffix)
    return ""
