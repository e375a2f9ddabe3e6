"""Which files a path, a pattern, a folder or an address stands for."""

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path

from upath import UPath

from headlight.errors import CorpusError
from headlight.files import Location, location

COMPANIONS = {"readme", "license", "licence", "notice", "copying", "citation", "manifest"}
"""Files that explain a folder and are no part of its text, whatever their suffix."""

WEB = ("http", "https")


def files(source: str | Location) -> list[Location]:
    """The files of a source, in a fixed order.

    A folder is read recursively and in the order of the names; hidden files and files such as
    ``README.md`` or ``LICENSE`` are left out of it.  What is no path is taken as a pattern, where
    ``**`` stands for any number of folders.  All that holds for addresses, too, such as
    ``s3://bucket/folder`` or ``zip://*.txt::texts.zip``, if the driver of fsspec is installed; an
    address of the web is always one file.

    Raises:
        CorpusError: There is no such file, nothing matches, a folder is empty or unreadable, or
            there is no driver.
    """
    place = location(source, error=CorpusError)
    if isinstance(place, UPath) and place.protocol in WEB:
        return [place]  # to find out whether it is a folder, all of it would be downloaded
    try:
        if isinstance(place, Path):
            place = place.expanduser()
        if place.exists():
            found = list(_expand(place))
            complaint = f"the folder {printable(place)} holds no text files"
        else:
            found = [file for match in _matches(place) for file in _expand(match)]
            complaint = f"there is no file or folder {printable(place)}, and nothing matches it"
    except Exception as error:  # too long, forbidden, a NUL, or whatever a driver raises
        raise CorpusError(f"{printable(source)} cannot be read: {error}.") from error
    if not found:
        raise CorpusError(f"{complaint}; check the path.")
    return found


def printable(path: str | Location) -> str:
    """The path as text that can be shown and stored, whatever bytes the file system holds."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _matches(pattern: Location) -> Iterable[Location]:
    if isinstance(pattern, Path):
        return map(Path, sorted(glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 (absolute)
    found = [
        UPath(match, protocol=pattern.protocol, **pattern.storage_options)
        for match in sorted(pattern.fs.glob(pattern.path))
    ]
    # Unlike those of Python, the patterns of fsspec match hidden files.
    return [path for path in found if _hidden_parts(path) <= _hidden_parts(pattern)]


def _hidden_parts(path: Location) -> int:
    return sum(part.startswith(".") for part in path.parts)


def _expand(path: Location) -> Iterator[Location]:
    if not path.is_dir():
        yield path
        return
    children: list[Location] = sorted(path.iterdir())
    for child in children:
        companion = is_companion(child.name) and not child.is_dir()
        if not child.name.startswith(".") and not companion:
            yield from _expand(child)


def is_companion(name: str) -> bool:
    """Whether a file explains its folder: ``README.md``, ``license``, ``LICENSE-texts.txt``."""
    stem = name.split(".")[0]
    # In small letters only the whole name counts: "notice-board.txt" may well be a text.
    first = stem.replace("_", "-").split("-")[0]
    return stem.lower() in COMPANIONS or (first.isupper() and first.lower() in COMPANIONS)
