"""Room on a disk, checked before anything large is written."""

import sys
from pathlib import Path
from shutil import disk_usage

from headlight.errors import RunError
from headlight.files import printable, storable


def check_disk_space(folder: Path, size: int, what: str, *, progress: bool = True) -> None:
    """Say how much will be written, and refuse to begin where the disk has no room for it.

    Args:
        folder: Folder that will be written to; the part of it that exists tells which disk it is.
        size: Size in bytes.
        what: Name of what will be written, in the plural.
        progress: Whether to say it on standard error.

    Raises:
        RunError: fewer bytes are free.
    """
    if progress and size:
        place = printable(storable(folder))  # a terminal may obey what is in a name
        sys.stderr.write(f"{what} take {_amount(size)} in {place}\n")
    require_disk_space(folder, size, what)


def require_disk_space(folder: Path, size: int, what: str) -> None:
    """Refuse to begin where the disk has no room; see `check_disk_space`.

    Raises:
        RunError: fewer bytes are free.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = disk_usage(existing).free
    if size > free:
        raise RunError(
            f"{what} take {_amount(size)} in {folder}, where {_amount(free)} are free; "
            "choose another place, or read less."
        )


def _amount(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.2f} MB"
