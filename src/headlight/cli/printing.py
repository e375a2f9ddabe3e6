"""Output to a terminal: the only place that prints.

Everything that a command prints goes through `say`, `show`, `say_json`, `say_lines` and `complain`.
They write control characters, which a terminal would obey, and characters that it cannot show, as
escapes.
"""

import json
import shlex
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headlight.files import printable, storable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


LONGEST = 3_000
"""Maximum length of a line on standard error, which may quote words of any length from a file."""


def say(sentence: object) -> None:
    """Print one line."""
    print(printable(storable(sentence)))  # noqa: T201


def complain(sentence: object) -> None:
    """Print one line on standard error; a long one without its middle."""
    line = storable(sentence)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST * 2 // 3]} … {line[-LONGEST // 3 :]}"
    print(printable(line), file=sys.stderr)  # noqa: T201


def say_json(value: Any) -> None:
    """Print JSON in one line, in ASCII, so that it is the same JSON in every encoding."""
    # JSON leaves DEL as it is, which a terminal obeys.
    print(json.dumps(value).replace("\x7f", r"\u007f"))  # noqa: T201


def say_lines(texts: Iterable[str]) -> None:
    """Print lines of data unchanged, or for a terminal without control characters.

    Args:
        texts: Texts with line breaks of their own.
    """
    for text in texts:
        printed = storable(text)
        if sys.stdout.isatty():  # a file gets the data as it is
            lines = (line.split("\t") for line in printed.split("\n"))
            printed = "\n".join("\t".join(map(printable, fields)) for fields in lines)
        print(printed, end="")  # noqa: T201


def show(renderable: "RenderableType", *, soft_wrap: bool = False) -> None:
    """Print a table or a text.

    Args:
        renderable: Object that rich can print.
        soft_wrap: Keep lines that are wider than the terminal.
    """
    from rich.console import Console

    Console().print(_Harmless(renderable), soft_wrap=soft_wrap)


class _Harmless:
    """Renderable whose control characters are written as escapes."""

    def __init__(self, renderable: "RenderableType") -> None:
        self._renderable = renderable

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterable[Segment]":
        """Yield the segments with escapes, as rich asks for them."""
        for segment in console.render(self._renderable, options):
            text = "\n".join(map(printable, segment.text.split("\n")))
            yield segment._replace(text=text)


def names(spec: str) -> list[str]:
    """Split a list of names such as ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """Return the command as a line that a shell can run again."""
    return storable(shlex.join(["headlight", *sys.argv[1:]]))
