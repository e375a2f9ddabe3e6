"""Files that a command will write: checked before the work, and named after it."""

import os
from pathlib import Path

from headlight.catalogue.writers import described, writers
from headlight.cli.printing import say
from headlight.errors import UsageError
from headlight.files import reason

OWN_OPTIONS = (".html", ".json", ".csv")
"""Suffixes of the formats that have an option; --out writes these and all others."""


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
    """Refuse before the work a file that could not be written after it."""
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
    # The folder, and not a file that is there: a file is written beside its place and then moved.
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: the folder {path.parent} cannot be written to; name another.")
