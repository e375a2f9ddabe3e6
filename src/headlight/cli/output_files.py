"""Files that a command is to write: looked at before the work, and named after it."""

import os
from pathlib import Path

from headlight.catalogue.writers import described, writers
from headlight.cli.printing import say
from headlight.errors import UsageError
from headlight.files import reason

OWN_OPTIONS = (".html", ".json", ".csv")
"""Suffixes of the formats that have options of their own; all are written by --out."""


def out_help(question: str) -> str:
    """Return the help of the option --out of a question."""
    others = {suffix: row for suffix, row in writers(question).items() if suffix not in OWN_OPTIONS}
    return f"Write a file, by its suffix: {described(others)}."


def tell_written(*written: Path) -> None:
    """Say which files were written."""
    for path in written:
        say(f"written: {path}")


def demand_places(**places: Path | None) -> None:
    """Refuse files by suffix that could not be written."""
    for suffix, path in places.items():
        demand_place(path, f".{suffix}")


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
