"""Workers on a Ray cluster, for a run of a study."""

import socket
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from headlight.analysis.run_folder import RunFolder
from headlight.errors import RunError
from headlight.processes import ignore_settings_of_folder
from headlight.run import show_progress
from headlight.run.blocks import blocks_done
from headlight.run.claims import release_claims
from headlight.run.pass_folders import plans
from headlight.run.ray_workers import connected, work_on_ray


@contextmanager
def on_cluster(folder: RunFolder) -> Iterator[None]:
    """With the Ray cluster connected on which workers are to be started, if they are.

    Args:
        folder: of the run, in which nothing is before there is a cluster.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    with connected(str(folder.workers)) if folder.on_ray else nullcontext():
        yield


def ray_workers(join_run: Callable[[], object], folder: RunFolder, *, show: bool) -> None:
    """Workers on a Ray cluster, until all is done; see `headlight.run.ray_workers`.

    Args:
        join_run: the entry point of a worker.
        folder: of the run, which all nodes see.
        show: whether to say how far it has come.
    """
    place = folder.place
    if place is None:
        return
    finished_blocks, working = 0, 0

    def blocks() -> int:
        return sum(len(blocks_done(each)) for each in plans(place))

    with show_progress(None, unit="blocks") if show else nullcontext() as bar:

        def look(workers: int) -> None:
            nonlocal finished_blocks, working
            if bar is not None:
                if workers != working:
                    bar.note(f"workers on Ray: {workers}")
                bar.advance(max(blocks() - finished_blocks, 0), 0)
                finished_blocks, working = max(blocks(), finished_blocks), workers

        work_on_ray(
            join_run,
            str(folder.workers),
            is_done=blocks,
            look=look,
            lose=partial(release_claims, place),
        )


@contextmanager
def working_directory(home: str) -> Iterator[None]:
    """Work where the first process of a run works, so that paths mean the same.

    Raises:
        RunError: this machine has no such folder.
    """
    if not Path(home).is_dir():
        raise RunError(
            f"{socket.gethostname()} has no folder {home}, in which the run was begun; begin it in "
            "a folder that all nodes share."
        )
    with chdir(home):
        ignore_settings_of_folder()
        yield
