"""Workers on Ray: all take part, lost ones are replaced, and one sentence says why it ends."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import headlight
from headlight.engine.file_names import CLAIMS
from headlight.engine.ray_workers import work_on_ray
from headlight.errors import RunError, UsageError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
]
ATTEMPTS = 3
"""To begin a cluster: its processes wait for each other for a quarter of a minute only."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    made = started()
    ray = import_module("ray")
    ray.init(made.address, log_to_driver=False)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which workers cannot import
    yield made
    ray.shutdown()
    made.shutdown()


def started() -> Any:
    """Return a cluster of one node; where others are at work, Ray may give one up as it begins."""
    for _ in range(ATTEMPTS):
        made = import_module("ray.cluster_utils").Cluster()
        try:
            made.add_node(num_cpus=1)
        except Exception:  # noqa: BLE001 - Ray raises nothing more specific
            made.shutdown()
        else:
            return made
    return pytest.skip(f"Ray has begun no node here in {ATTEMPTS} attempts")


def finished(folder: Path) -> int:
    return len(list(folder.glob("*.done")))


def join_run(folder: Path, pieces: int, deadly: int = 0, pause: float = 0.0) -> None:
    """Do pieces until all are done; the first so many times, die before one is."""
    for piece in range(pieces):
        done = folder / f"{piece}.done"
        if done.exists():
            continue
        deaths = len(list(folder.glob("*.death")))
        if deaths < deadly:
            (folder / f"{deaths}.death").touch()
            os._exit(1)
        time.sleep(pause)
        done.write_text(import_module("ray").get_runtime_context().get_node_id())


def refuse() -> None:
    raise RunError("memory does not suffice.")


def die() -> None:
    os._exit(1)


@pytest.mark.long
def test_lost_workers_are_replaced(cluster: object, tmp_path: Path) -> None:
    seen: list[int] = []
    work_on_ray(
        partial(join_run, tmp_path, 3, deadly=1),
        "ray",
        is_done=partial(finished, tmp_path),
        look=seen.append,
    )
    assert finished(tmp_path) == 3
    assert seen  # how many there are is told, however quickly they end


@pytest.mark.long
def test_what_a_worker_refuses_is_refused(cluster: object) -> None:
    with pytest.raises(RunError, match=r"^memory does not suffice\.$"):
        work_on_ray(refuse, "ray", is_done=lambda: 0)


@pytest.mark.long
def test_workers_that_are_always_lost_end_the_run(cluster: object, monkeypatch) -> None:
    monkeypatch.setattr("headlight.engine.ray_workers.LOST_IN_A_ROW", 2)
    with pytest.raises(RunError, match=r"2 workers in a row were lost .* resume=True"):
        work_on_ray(die, "ray", is_done=lambda: 0)


@pytest.mark.long
def test_a_node_may_leave_while_it_works(cluster, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1)

    def leave(workers: int) -> None:
        nonlocal node
        if node is not None and finished(tmp_path):
            cluster.remove_node(node)
            node = None

    work_on_ray(
        partial(join_run, tmp_path, 30, pause=0.1),
        "ray",
        is_done=partial(finished, tmp_path),
        look=leave,
    )
    assert node is None
    assert finished(tmp_path) == 30


@pytest.fixture
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("nobody answers\nfor 30 s")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", refuse)


@pytest.mark.usefixtures("nobody_answers")
def test_without_a_cluster_at_the_address_is_one_sentence(tmp_path: Path) -> None:
    message = r"no Ray cluster at ray://a:1 \(nobody answers\)"
    with pytest.raises(UsageError, match=message):
        work_on_ray(die, "ray://a:1", is_done=lambda: 0)
    (tmp_path / "corpus.txt").write_text("A text.")
    with pytest.raises(UsageError, match=message):
        headlight.survey(tmp_path / "corpus.txt", out=tmp_path / "run", workers="ray://a:1")
    assert not (tmp_path / "run").exists()


def test_without_the_client_is_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr(
        "headlight.engine.ray_workers.find_spec", lambda name: name != "grpc" or None
    )
    with pytest.raises(UsageError, match=r"workers on ray://a:1 need grpc; pip install"):
        work_on_ray(die, "ray://a:1", is_done=lambda: 0)


@contextmanager
def first_worker_killed(run: Path) -> Iterator[list[int]]:
    """The first process that is at a block of the run within the block, once it is killed."""
    killed: list[int] = []
    ended = Event()

    def kill() -> None:
        while not (killed or ended.wait(0.01)):
            for claim in run.rglob(f"{CLAIMS}/*.json"):
                with suppress(OSError, ValueError):  # it is replaced, or was given up
                    number = json.loads(claim.read_text())["process"]
                    if number != os.getpid():
                        os.kill(number, signal.SIGKILL)
                        killed.append(number)
                        return

    thread = Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


@pytest.mark.long
def test_a_survey_on_ray_has_the_bits_of_one_process_though_a_worker_is_killed(
    cluster: object, tmp_path: Path
) -> None:
    (tmp_path / "corpus.txt").write_text("".join(f"Text {i} of {i % 7}.\n" for i in range(300)))
    asked = {"max_length": 16, "format": "lines", "progress": False}
    alone = headlight.survey(tmp_path / "corpus.txt", out=tmp_path / "alone", **asked)
    run = tmp_path / "ray"
    with first_worker_killed(run) as killed:
        shared = headlight.survey(tmp_path / "corpus.txt", out=run, workers="ray", **asked)
    assert killed
    assert shared.drop_attrs().identical(alone.drop_attrs())
    assert shared.attrs["corpus_digest"] == alone.attrs["corpus_digest"]
    names, whole = (
        {str(path.relative_to(folder)) for path in folder.rglob("*")}
        for folder in (run, tmp_path / "alone")
    )
    assert names == whole
