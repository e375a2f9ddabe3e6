"""What the words of a command line mean."""

import shlex
import sys
from pathlib import Path

from headlight.errors import UsageError
from headlight.files import standard_input, storable

STANDARD_INPUT = "-"


def names(spec: str) -> list[str]:
    """The names in ``weight,norm``."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def command_line() -> str:
    """What was typed, as it can be typed again."""
    return storable(shlex.join(["headlight", *sys.argv[1:]]))


def demand_place(path: Path | None, *suffixes: str) -> None:
    """Complain before the work about a file that could not be written after it."""
    if path is None:
        return
    if path.suffix not in suffixes:
        wanted = " or ".join(suffixes)
        raise UsageError(f"{path}: the name of this file must end in {wanted}.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")


def text_argument(argument: str) -> str:
    """What to read: the argument, or standard input for ``-``.

    Raises:
        UsageError: there is no text in it, or it is not UTF-8.
    """
    text = argument
    if argument == STANDARD_INPUT:
        try:
            text = standard_input().read().decode()
        except UnicodeDecodeError as problem:
            raise UsageError("standard input is not UTF-8; convert it first.") from problem
    if not text.strip():
        raise UsageError("there is no text to read; write at least one word.")
    return text.strip()
