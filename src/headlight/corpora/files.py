"""Files that a source stands for: paths, patterns, folders and addresses."""

import glob
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from headlight.errors import CorpusError
from headlight.files import Location, location, storable, why_unread

COMPANIONS = {"readme", "license", "licence", "notice", "copying", "citation", "manifest"}
"""Files that explain a folder and are no part of its text, whatever their suffix."""

WEB = ("http", "https")
ANY_FOLDERS = "**"


def files(source: str | Location) -> list[Location]:
    """Return the files of a source, in a fixed order.

    A folder is read recursively and in the order of the names; hidden files and files such as
    ``README.md`` or ``LICENSE`` are left out of it.  What is no path is taken as a pattern, where
    ``**`` stands for any number of folders.  Only what can be read again and again is a file: pipes
    and devices are refused, and so are links that lead back to a folder that they are in.

    All that holds for addresses, too, such as ``s3://bucket/folder`` or ``zip://*.txt::texts.zip``,
    if the driver of fsspec is installed; an address of the web is always one file.

    Raises:
        CorpusError: There is no such file, nothing matches, a folder is empty, unreadable or
            endless, something in it is no file, or there is no driver.
    """
    place = location(source, error=CorpusError)
    if not isinstance(place, Path) and place.protocol in WEB:
        return [place]  # to find out whether it is a folder, all of it would be downloaded
    try:
        if isinstance(place, Path):
            place = place.expanduser()
        if place.exists():
            paths = list(_expand(place))
            complaint = f"the folder {storable(place)} holds no text files"
        else:
            paths = [file for match in _matches(place) for file in _expand(match)]
            complaint = f"there is no file or folder {storable(place)}, and nothing matches it"
    except CorpusError:
        raise
    except Exception as error:  # too long, forbidden, a NUL, or whatever a driver raises
        raise CorpusError(f"{storable(source)} cannot be read: {why_unread(error)}.") from error
    if not paths:
        raise CorpusError(f"{complaint}; check the path.")
    return paths


def _matches(pattern: Location) -> Iterable[Location]:
    if isinstance(pattern, Path):
        _demand_end(pattern)
        return map(Path, sorted(glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 (absolute)
    from upath import UPath

    paths = [
        UPath(match, protocol=pattern.protocol, **pattern.storage_options)
        for match in sorted(pattern.fs.glob(pattern.path))
    ]
    # Unlike those of Python, the patterns of fsspec match hidden files.
    return [path for path in paths if _hidden_parts(path) <= _hidden_parts(pattern)]


def _hidden_parts(path: Location) -> int:
    return sum(part.startswith(".") for part in path.parts)


def _expand(path: Location, above: tuple[Path, ...] = ()) -> Iterator[Location]:
    """Yield a file, or the files of a folder, which lies in the folders above."""
    if not path.is_dir():
        _demand_file(path)
        yield path
        return
    above = _add_folder(above, path)
    children: list[Location] = sorted(path.iterdir())
    for child in children:
        companion = is_companion(child.name) and not child.is_dir()
        if not child.name.startswith(".") and not companion:
            yield from _expand(child, above)


def _demand_file(path: Location) -> None:
    # What is broken or forbidden is refused where it is opened.
    if isinstance(path, Path) and path.exists() and not path.is_file():
        raise CorpusError(
            f"{storable(path)} is a pipe or a device, which can be read only once; leave it out, "
            "save it to a file, or send it to standard input (-)."
        )


def _demand_end(pattern: Path) -> None:
    """Refuse a pattern for any number of folders where links make them endless."""
    if ANY_FOLDERS not in pattern.parts:
        return
    first = next(at for at, part in enumerate(pattern.parts) if glob.has_magic(part))
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(Path(*pattern.parts[:first]), ())]
    while waiting:
        folder, above = waiting.pop()
        above = _add_folder(above, folder)
        with suppress(OSError):  # patterns pass over what they may not enter
            waiting += [(child, above) for child in folder.iterdir() if child.is_dir()]


def _add_folder(above: tuple[Path, ...], folder: Location) -> tuple[Path, ...]:
    """Return the folders above and this folder, with links resolved."""
    if not isinstance(folder, Path):
        return above
    real = folder.resolve()
    if real in above:
        raise CorpusError(
            f"{storable(folder)} leads back to a folder that it is in; remove the link, or name "
            "the files."
        )
    return (*above, real)


def is_companion(name: str) -> bool:
    """Return whether a file explains its folder: ``README.md``, ``license``, ``LICENSE-a.txt``."""
    stem = name.split(".")[0]
    # In small letters only the whole name counts: "notice-board.txt" may well be a text.
    first = stem.replace("_", "-").split("-")[0]
    return stem.lower() in COMPANIONS or (first.isupper() and first.lower() in COMPANIONS)
