"""Workers on a Ray cluster: processes that take part in a run, wherever there is room for them."""

import socket
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import chdir, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headlight.engine.blocks import blocks_done
from headlight.engine.claims import release_claims
from headlight.engine.folder import OpenFolder, RunFolder
from headlight.engine.pass_folders import plans
from headlight.engine.progress import show_progress
from headlight.errors import HeadlightError, RunError, UsageError, setting
from headlight.processes import ignore_settings_of_folder, safe_start

PREFIX = "ray://"
LOOK = 1.0
"""Seconds between two checks of the progress of the workers."""
LOST_IN_A_ROW = 5
"""Number of workers lost in a row, without a finished block between, at which the run fails."""


def work_on_ray(
    join_run: Callable[[], object],
    address: str,
    *,
    is_done: Callable[[], int],
    look: Callable[[int], None] = lambda workers: None,
    lose: Callable[[Collection[str]], None] = lambda hosts: None,
) -> None:
    """Run workers on all devices of a cluster at once, until every worker has returned.

    There is one worker for each GPU of the cluster, or for each processor core where it has no GPU;
    nodes that come later get workers as well.  A worker that is lost, alone or with its node, is
    replaced wherever there is room, and the next worker takes over its work.

    Args:
        join_run: Entry point of a worker, which returns when no work is left.  It goes to the nodes
            by name, and headlight is installed there.
        address: Address of the cluster: ``ray`` for the cluster that this machine is part of, or
            else this machine alone; ``ray://HOST:PORT`` for another, see Ray Client.
        is_done: Function that returns how much is finished, called when workers are lost.
        look: Callback that is given the number of workers once in a while.
        lose: Callback that is given the names of machines that the cluster has lost.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
        RunError: workers are lost again and again, and nothing is finished.
        HeadlightError: a worker raises it.
    """
    with connect(address) as ray:
        _Crew(ray, join_run, is_done).work(look, lose)


class _Crew:
    """Workers at work, and the number of those lost in a row."""

    def __init__(self, ray: Any, join_run: Callable[[], object], count: Callable[[], int]) -> None:
        self._ray = ray
        self._done = count
        self._kind = "GPU" if ray.cluster_resources().get("GPU") else "CPU"
        needs = {"num_gpus": 1} if self._kind == "GPU" else {"num_cpus": 1}
        # Ray would bind a retry to the node that is gone; `_hire` takes any node with room.
        self._worker = ray.remote(**needs, max_retries=0)(_call)
        self._join_run = join_run
        self._workers: list[Any] = []
        self._through = False
        self._lost = 0
        self._finished = count()
        self._gone: set[str] = set()

    def work(self, look: Callable[[int], None], lose: Callable[[Collection[str]], None]) -> None:
        """Keep as many workers as there is room for, until the first finds no work left."""
        try:
            while not self._through:
                self._hire()
                self._dismiss()
                self._part_with_nodes(lose)
                look(len(self._workers))
            while self._workers:  # they are about to return
                self._dismiss()
        finally:
            for worker in self._workers:
                self._ray.cancel(worker, force=True)

    def _hire(self) -> None:
        room = max(1, int(self._ray.cluster_resources().get(self._kind, 0)))
        for _ in range(room - len(self._workers)):
            self._workers.append(self._worker.remote(self._join_run))

    def _dismiss(self) -> None:
        """Remove the workers that have returned, or are lost."""
        ended, self._workers = self._ray.wait(self._workers, timeout=LOOK)
        for worker in ended:
            try:
                self._ray.get(worker)
                self._through = True
            except self._ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, HeadlightError):
                    raise error.cause from None
                raise
            except self._ray.exceptions.RayError as error:
                self._lose(error)

    def _part_with_nodes(self, lose: Callable[[Collection[str]], None]) -> None:
        """Report each machine of which no node is left, once."""
        nodes = self._ray.nodes()
        alive = {node.get("NodeManagerHostname") for node in nodes if node["Alive"]}
        gone = {node.get("NodeManagerHostname") for node in nodes} - alive
        if gone - self._gone:
            lose(gone - self._gone)
        self._gone = gone

    def _lose(self, error: Exception) -> None:
        finished = self._done()
        self._lost = self._lost + 1 if finished == self._finished else 1
        self._finished = finished
        if self._lost >= LOST_IN_A_ROW and not self._through:
            raise RunError(
                f"{self._lost} workers in a row were lost before they had finished a block "
                f"({str(error).splitlines()[0].rstrip('.')}); if their memory does not suffice, "
                f"allow fewer tokens in a batch, then go on with {setting('resume=True')}."
            ) from error


def _call(join_run: Callable[[], object]) -> None:
    # Ray takes functions only, and what they return would travel to the first node.
    join_run()


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Connect to Ray, and yield its module; an existing connection is used, and stays.

    Args:
        address: Address of the cluster, see `work_on_ray`.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    client = address.startswith(PREFIX)
    missing = [name for name in ("ray", *(["grpc"] if client else [])) if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"workers on {address} need {missing[0]}; pip install 'headlight-attention[ray]'."
        )
    import ray  # some seconds

    if ray.is_initialized():
        yield ray
        return
    try:
        # Ray puts the working folder before all others where its workers look for modules.
        with safe_start(), chdir(sys.prefix):
            ray.init(address if client else None, log_to_driver=False)
    except (ConnectionError, OSError, RuntimeError, ValueError) as problem:
        raise UsageError(
            f"there is no Ray cluster at {address} ({str(problem).splitlines()[0].rstrip('.')}); "
            "check the address."
        ) from problem
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def on_cluster(folder: RunFolder) -> Iterator[None]:
    """Connect to the Ray cluster within the block, if workers are to be started on one.

    Args:
        folder: Folder of the run, in which nothing is made before there is a cluster.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    with connect(str(folder.workers)) if folder.on_ray else nullcontext():
        yield


def ray_workers(join_run: Callable[[], object], folder: OpenFolder, *, show: bool) -> None:
    """Run workers on a Ray cluster until all is done; see `work_on_ray`.

    Args:
        join_run: Entry point of a worker.
        folder: Folder of the run, which all nodes see.
        show: Whether to show progress.
    """
    place = folder.place
    if place is None:
        return
    finished_blocks, working = 0, 0

    def blocks() -> int:
        return sum(len(blocks_done(pass_folder)) for pass_folder in plans(place))

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
            str(folder.request.workers),
            is_done=blocks,
            look=look,
            lose=partial(release_claims, place),
        )


@contextmanager
def working_directory(home: str) -> Iterator[None]:
    """Work in the folder in which the first process of a run works, so that paths mean the same.

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
