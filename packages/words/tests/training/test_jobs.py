"""Models trained one by one or in processes: what is there is not trained again."""

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from headlight.capture.torch_settings import one_thread
from headlight.errors import RunError
from headlight_words.training.jobs import run_all, run_stages
from headlight_words.training.model_store import ModelStore


@dataclass(frozen=True)
class Job:
    name: str


@dataclass(frozen=True)
class Counter(ModelStore[Job]):
    folder: Path

    def run(self, job):
        threads = torch.tensor([torch.get_num_threads()])
        self.save(job, {"threads": threads}, {"length": len(job.name)})


@pytest.fixture
def trainer(tmp_path):
    return Counter(tmp_path)


def test_a_model_and_what_was_measured_are_kept(trainer):
    run_all(trainer, [Job("abc")], 1, lambda job: None)
    assert trainer.path(Job("abc")).is_file()
    assert trainer.measured(Job("abc")) == {"length": 3}
    assert trainer.parameters(Job("abc"))["threads"].tolist() == [1]
    assert not trainer.is_done(Job("abcd"))


def test_finished_models_are_not_trained_again_and_damaged_ones_are(trainer):
    jobs, done = [Job("a"), Job("b")], []
    run_all(trainer, jobs, 1, done.append)
    run_all(trainer, jobs, 1, done.append)
    assert done == jobs
    path = trainer.path(Job("b"))
    path.write_bytes(path.read_bytes()[:-3])
    run_all(trainer, jobs, 1, done.append)
    assert done[2:] == [Job("b")]


def test_stages_are_trained_in_turn_and_counted(trainer, capsys):
    order = []

    class Noting(Counter):
        def run(self, job):
            order.append(job.name)
            super().run(job)

    noting = Noting(trainer.folder)
    trainer.run(Job("a"))
    run_stages(noting, [[Job("a"), Job("b")], [Job("c")]], 1, show=True)
    assert order == ["b", "c"]
    assert "1 models were done before" in capsys.readouterr().err
    run_stages(noting, [[Job("a"), Job("b")], [Job("c")]], 1, show=True)
    assert not capsys.readouterr().err


def test_threads_are_as_before_after_an_error():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    with pytest.raises(ValueError, match="stop"), one_thread():
        raise ValueError("stop")
    assert torch.get_num_threads() == before


def test_a_process_that_is_killed_is_one_sentence(trainer, monkeypatch):
    class Broken(ThreadPoolExecutor):
        def __init__(self, *given, **more):
            super().__init__(1)

        def submit(self, *given):
            found = Future()
            found.set_exception(BrokenProcessPool("killed"))
            return found

    monkeypatch.setattr("headlight_words.training.jobs.ProcessPoolExecutor", Broken)
    with pytest.raises(RunError, match=r"ended from outside.*resume=True and fewer processes"):
        run_all(trainer, [Job("a"), Job("b")], 2, lambda job: None)


@pytest.mark.long
def test_a_script_need_not_guard_against_its_own_processes(tmp_path):
    """Which would otherwise run it again, from its beginning."""
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib\n"
        "from headlight_words.training.jobs import run_all\n"
        "from training.test_jobs import Counter, Job\n"
        "folder = pathlib.Path(__file__).parent\n"
        "run_all(Counter(folder), [Job('a'), Job('b')], 2, lambda job: print(job.name))\n"
        "print(__spec__, pathlib.Path(__file__).name)\n"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    *trained, last = done.stdout.splitlines()
    assert sorted(trained) == ["a", "b"]
    assert last == "None script.py"
