"""Arguments of a command line, and their meaning."""

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from headlight.errors import ResultError, UsageError
from headlight.files import standard_input, storable

STANDARD_INPUT = "-"


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
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")


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
            text = standard_input().read().decode().strip("\r\n")
        except UnicodeDecodeError as problem:
            raise UsageError("standard input is not UTF-8; convert it first.") from problem
    else:
        _refuse_file(argument, command)
    require_text(text, name)
    return text


def _refuse_file(text: str, command: str) -> None:
    """Refuse the name of a file or folder that is here, where a text is read.

    Raises:
        UsageError: it is one.
    """
    from headlight.corpora.speech import SOUND

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
    if kind := _kind_without_text(path):
        raise UsageError(f"{text} is {kind}; {name}.")
    raise UsageError(
        f"{text} is a file here: `headlight {command} - < {quoted}`, or `headlight survey "
        f"{quoted}`; {name}."
    )


def _kind_without_text(path: Path) -> str:
    """Return what a file without text is; nothing of any other, or one that cannot be read."""
    from headlight.corpora.lines import kind_without_text
    from headlight.files import open_file

    with suppress(OSError, ResultError):
        if path.is_file():
            with open_file(path) as file:
                return kind_without_text(file.read(16))
    return ""
