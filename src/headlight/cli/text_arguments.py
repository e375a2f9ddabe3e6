"""Texts and chats as arguments: as typed, from a file, or from standard input."""

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.catalogue.sources import STANDARD_INPUT
from headlight.errors import ResultError, UsageError
from headlight.files import parse_json, read_json, standard_input

if TYPE_CHECKING:
    from headlight.corpora import Chat


def text_argument(argument: str, command: str, name: str = "text") -> str:
    """Return what to read: the argument, or for ``-`` standard input without its line breaks.

    Args:
        argument: Argument as it was typed.
        command: Name of the command, for a refusal.
        name: Name of the text in a refusal.

    Raises:
        UsageError: there is no text in it, it is the name of a file, or it is not UTF-8.
    """
    from headlight.corpora.text_checks import require_text

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
        path: Path of the file, or ``-``.
        system: System message; see `headlight.corpora.Chat.of`.
        template: Whether the template of the model writes the messages.

    Raises:
        UsageError: there is no such file, or no chat in it.
    """
    from headlight.corpora import Chat

    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        if str(path) == STANDARD_INPUT:
            value = parse_json(standard_input().read())
        else:
            value = read_json(path, refuse_links=False, error=UsageError)
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
