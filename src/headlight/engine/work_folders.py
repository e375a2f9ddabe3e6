"""Folders that a study keeps within that of its run: maps, trained models, unfinished work.

Each bears a mark, so that starting over removes what a run made and nothing else, whatever the name
of a folder, and never through a link.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

from headlight import files
from headlight.engine.pass_folders import refuse_link
from headlight.errors import RunError, setting
from headlight.files import Location

MARK = ".work"
"""Mark in a folder within that of a run: a run made it, and may remove it."""


@contextmanager
def work_place(run: Location | None, names: Iterable[str], **options: Any) -> Iterator[Path]:
    """Yield a folder with work folders of these names: that of the run, or else a temporary one.

    A run that is kept in a store has a temporary one as well, since a store cannot be
    memory-mapped.  See `prepare_work_folders`.
    """
    opened = nullcontext(run) if isinstance(run, Path) else TemporaryDirectory(prefix="headlight-")
    with opened as place:
        prepare_work_folders(Path(place), names, **options)
        yield Path(place)


def prepare_work_folders(
    run: Path, names: Iterable[str], *, others: Iterable[str] = (), overwrite: bool = False
) -> None:
    """Make the folders in which a study keeps what it will use again, or reuse existing ones.

    Files that killed processes left half written in them are removed; no other process may be
    writing there.

    Args:
        run: Folder of the run.
        names: Names of the folders.
        others: Names of folders that a run with other settings may have left there.
        overwrite: Whether to begin with empty folders, and to remove the others.

    Raises:
        RunError: a folder is a link, holds files though no run made it, or cannot be made.
    """
    places = [run / name for name in names]
    for place in places:
        _check_own(place)
    for name in others if overwrite else ():
        remove_work_folder(run / name)
    for place in places:
        if overwrite:
            remove_work_folder(place)
        else:
            _remove_partials(place)
        claim_work_folder(place)


def claim_work_folder(place: Path) -> Path:
    """Make a work folder, or reuse the existing one, in which other processes may be writing.

    Raises:
        RunError: it is a link, holds files though no run made it, or cannot be made.
    """
    _check_own(place)
    files.make_folder(place, error=RunError)
    (place / MARK).touch()
    return place


def remove_work_folder(place: Path) -> None:
    """Remove a work folder, if it is there.

    Raises:
        RunError: it is a link, or no run made it.
    """
    _check_own(place)
    rmtree(place, ignore_errors=True)


def _check_own(place: Path) -> None:
    refuse_link(place)
    if place.is_dir() and not (place / MARK).exists() and any(place.iterdir()):
        raise RunError(
            f"{place} holds files that no run of Headlight made, and this run would keep its own "
            f"there; move it away, or choose another folder with {setting('out=')}."
        )


def _remove_partials(place: Path) -> None:
    files.remove_partials(place)
    for inside in place.iterdir() if place.is_dir() else ():
        if inside.is_dir() and not files.is_link(inside):
            _remove_partials(inside)
