"""Processes that run one model together: the folder that each works in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from torch import distributed

from headlight import files
from headlight.catalogue import Study
from headlight.engine.checkpoint import FILE as CHECKPOINT
from headlight.engine.file_names import PASS
from headlight.engine.folder import RunFolder
from headlight.engine.pass_folders import passes, plans
from headlight.errors import RunError, UsageError
from headlight.files import Location
from headlight.output_folder import RECORD
from headlight.result import RESULT

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


@contextmanager
def rank_folder(
    study: Study, folder: RunFolder, processes: "ProcessGroup | None"
) -> Iterator[RunFolder]:
    """Yield the folder that this process works in, where several run one model together.

    All processes do the same, as far as they begin with the same state; the first keeps the output,
    and the others discard it.

    Args:
        study: Study that is run.
        folder: Folder of the run.
        processes: Processes that run the model; None for this process alone.

    Raises:
        UsageError: workers share the run too, or have begun it, or the study trains models.
    """
    if processes is None:
        yield folder
        return
    _check_together(study, folder)
    distributed.barrier(group=processes)  # the first may still be writing what it did before
    with TemporaryDirectory() as scratch:
        rank_place = folder
        if folder.place is not None and processes.rank():
            rank_place = replace(folder, path=Path(scratch))
            if folder.resume:
                _copy_state(folder.place, Path(scratch))
        distributed.barrier(group=processes)  # others have read the folder before the first writes
        yield rank_place
        distributed.barrier(group=processes)  # after the first has written all


def _check_together(study: Study, folder: RunFolder) -> None:
    begun = folder.resume and folder.place is not None and any(plans(folder.place))
    if folder.shared or begun:
        raise UsageError(
            "processes that run one model together (tensor parallelism) are one worker, which "
            "cannot share its run yet; leave out workers, or begin in another folder."
        )
    if not study.on_shards:
        raise UsageError(
            f"{study.name} trains models, which is not supported where each process has some of "
            "the heads (tensor parallelism); load the model with device_map (balanced)."
        )


def _copy_state(place: Location, to: Path) -> None:
    """Copy everything that decides what is left to do."""
    for source in passes(place):
        inner = to if source == place else to / source.name
        files.make_folder(inner, error=RunError)
        for name in (RESULT, CHECKPOINT, PASS, RECORD):
            if (source / name).exists():
                files.write(
                    inner / name, files.read(source / name, refuse_links=True, error=RunError)
                )
