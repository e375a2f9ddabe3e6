"""Folders of the passes of a run, within that of the run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from headlight import files
from headlight.engine.checkpoint import FILE as CHECKPOINT
from headlight.engine.file_names import BLOCK_FILE, BLOCKS, CLAIMS, COUNTS, PASS, PLAN, ROWS
from headlight.errors import RunError, setting
from headlight.files import Location


def begin_pass(folder: Location, name: str) -> Location:
    """Return the folder of a pass within that of its run, and mark it as such.

    Raises:
        RunError: it is a link, or holds a run of its own.
    """
    place = folder / name
    refuse_link(place)
    if not (place / PASS).exists():
        if any((place / file_name).exists() for file_name in (CHECKPOINT, PLAN)):
            raise RunError(
                f"{place} holds a run, and this one would keep a part of itself there; choose "
                f"another folder with {setting('out=')}."
            )
        _mark_pass(files.make_folder(place, error=RunError) / PASS)
    return place


def _mark_pass(mark: Location) -> None:
    """Make the mark at once, not under a temporary name first.

    A file of such a name, left by a killed process, would lie in a folder that is not yet seen as a
    pass.
    """
    try:
        mark.touch()
    except Exception as problem:  # drivers of stores raise errors of their own
        raise RunError(f"{mark} cannot be written: {files.reason(problem)}.") from problem


def passes(folder: Location) -> Iterator[Location]:
    """Yield the folders of the passes of a run: its own, and those in it that it has marked.

    Other runs that lie in it have none of these marks; the target of a link is never the run's.
    """
    yield folder
    inside = [entry for entry in folder.glob("*") if not files.is_link(entry)]
    yield from (entry for entry in inside if (entry / PASS).exists())


def plans(folder: Location) -> Iterator[Location]:
    """Yield the folders of the passes of a shared run: those that have a plan."""
    yield from (place for place in passes(folder) if (place / PLAN).exists())


def remove_passes(folder: Location) -> None:
    """Remove what is only needed to resume a run: checkpoints, plans and blocks.

    Nothing but what a run writes is removed, and nothing through a link.
    """
    for place in list(passes(folder)):
        (place / CHECKPOINT).unlink(missing_ok=True)
        # Without a plan as well: who came late may have put something there when it was gone.
        for name in (BLOCKS, CLAIMS, COUNTS, ROWS):
            _remove_files(place / name)
        (place / PLAN).unlink(missing_ok=True)  # the last, or others could be measured beside them
        if place != folder:
            (place / PASS).unlink(missing_ok=True)
            files.remove_empty(place)


def _remove_files(folder: Location) -> None:
    """Remove the files of blocks, and the folder if it holds nothing else."""
    if files.is_link(folder):
        return
    for path in [path for path in folder.glob("*") if BLOCK_FILE.fullmatch(path.name)]:
        path.unlink(missing_ok=True)
    if isinstance(folder, Path):
        files.remove_partials(folder)
    files.remove_empty(folder)


def remove_partials(folder: Path, others: Sequence[str] = ()) -> None:
    """Remove files that killed processes have left half written in the folders of a run.

    No other process may be writing there.

    Args:
        folder: Folder of the run.
        others: Names of folders in it, besides those of passes and blocks.
    """
    files.remove_partials(folder)
    inside: list[Location] = [folder / name for name in others]
    for place in passes(folder):
        inside += [place, *(place / name for name in (BLOCKS, CLAIMS, COUNTS, ROWS))]
    for inner in inside:
        if isinstance(inner, Path) and not files.is_link(inner):
            files.remove_partials(inner)


def refuse_link(place: Location, use: str = "keeps files of its own") -> None:
    """Refuse a link where a run would write, and so write elsewhere.

    Args:
        place: File or folder of a run.
        use: Clause about what the run does there, for the message.

    Raises:
        RunError: the place is a link.
    """
    if files.is_link(place):
        raise RunError(
            f"{place} is a link, where a run {use}; remove it, or choose another folder with "
            f"{setting('out=')}."
        )
