"""Which files a path, a pattern or a folder stands for."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from headlight.errors import CorpusError

COMPANIONS = {"readme", "license", "licence", "notice", "copying", "citation", "manifest"}
"""Files that explain a folder and are no part of its text, whatever their suffix."""


def files(source: str) -> list[Path]:
    """The files of a source, in a fixed order.

    A folder is read recursively and in the order of the names; hidden files and files such as
    ``README.md`` or ``LICENSE`` are left out of it.  What is no path is taken as a pattern, where
    ``**`` stands for any number of folders.

    Raises:
        CorpusError: There is no such file, nothing matches, or a folder is empty or unreadable.
    """
    try:
        path = Path(source).expanduser()
        if path.exists():
            found = list(_expand(path))
            complaint = f"the folder {printable(path)} holds no text files"
        else:
            found = _matches(str(path))
            complaint = f"there is no file or folder {printable(path)}, and nothing matches it"
    except (OSError, RuntimeError, ValueError) as error:  # too long, forbidden, no home, a NUL
        raise CorpusError(f"{printable(source)} cannot be read: {error}.") from error
    if not found:
        raise CorpusError(f"{complaint}; check the path.")
    return found


def printable(path: Path | str) -> str:
    """The path as text that can be shown and stored, whatever bytes the file system holds."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _matches(pattern: str) -> list[Path]:
    return [
        file
        for match in sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (absolute patterns)
        for file in _expand(Path(match))
    ]


def _expand(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for child in sorted(path.iterdir()):
        companion = is_companion(child.name) and not child.is_dir()
        if not child.name.startswith(".") and not companion:
            yield from _expand(child)


def is_companion(name: str) -> bool:
    """Whether a file explains its folder: ``README.md``, ``license``, ``LICENSE-texts.txt``."""
    stem = name.split(".")[0]
    # In small letters only the whole name counts: "notice-board.txt" may well be a text.
    first = stem.replace("_", "-").split("-")[0]
    return stem.lower() in COMPANIONS or (first.isupper() and first.lower() in COMPANIONS)
