"""Output to a terminal.

The only place that prints: whatever a terminal cannot show, it gets something that it can.
Everything that a command says goes through `say`, `show`, `say_json` and `complain`, which write
out what a terminal would obey.
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
"""Characters of a sentence that is said on standard error: files may hold words of any length."""


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


def names(spec: str) -> list[str]:
    """The names in ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """Return the command as it was typed, and as it can be typed again."""
    return storable(shlex.join(["headlight", *sys.argv[1:]]))
