"""Real processes: killed at random moments, interrupted, two at once, on a disk that is full."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.corpus import bits, files, run, texts, work
from headlight.engine.checkpoint import load_state
from headlight.reduce import Tally
from random_moments import random_moments

PROGRAM = Path(__file__).with_name("process.py")
NUMBER = 60
"""Texts: fifteen shards of two batches."""


def start(folder: Path, seconds: float, *options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), str(NUMBER), str(seconds), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def wait_for_the_first_batch(process: subprocess.Popen[str]) -> None:
    """Wait until it measures; it must have something left to do."""
    assert process.stdout is not None
    assert process.stdout.readline(), process.communicate()[1]


def expected() -> dict[tuple[str, str], bytes]:
    return bits(run(texts(NUMBER), work(), signature={}).tally)


def kept(folder: Path) -> tuple[Tally, int]:
    state, _ = load_state(folder / "checkpoint.safetensors")
    return state.tally, state.examples


def finish(folder: Path) -> None:
    process = start(folder, 0, "--resume")
    assert process.communicate(timeout=300)[1] == ""
    assert process.returncode == 0
    tally, examples = kept(folder)
    assert examples == NUMBER
    assert bits(tally) == expected()


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_gives_the_same_bits(tmp_path: Path) -> None:
    generator = random_moments()
    done = 0
    for _ in range(5):
        process = start(tmp_path, 0.1, "--resume")  # three seconds for the whole corpus
        wait_for_the_first_batch(process)
        time.sleep(generator.uniform(0, 0.4))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        if (tmp_path / "checkpoint.safetensors").exists():
            _, examples = kept(tmp_path)  # readable at any moment
            assert examples >= done
            done = examples
    finish(tmp_path)
    assert files(tmp_path) == {"checkpoint.safetensors"}


@pytest.mark.slow
def test_killed_while_writing_gives_the_same_bits(tmp_path: Path) -> None:
    for moment, examples in ((1, 0), (2, 4), (3, 8), (6, 20)):
        process = start(tmp_path, 0, "--resume", f"--die-at={moment}")
        process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL
        assert len(list(tmp_path.glob(".*.partial"))) == moment % 2
        if examples:
            assert kept(tmp_path)[1] == examples
    finish(tmp_path)
    assert files(tmp_path) == {"checkpoint.safetensors"}


@pytest.mark.slow
def test_control_c_keeps_the_state_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = start(tmp_path, 0.1)
    wait_for_the_first_batch(process)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.count("\n") == 1
    assert said.startswith("error: interrupted; ")
    assert "resume=True" in said  # it was called from Python
    assert files(tmp_path) <= {"checkpoint.safetensors"}
    finish(tmp_path)


@pytest.mark.slow
def test_two_processes_in_one_folder_are_refused_until_one_is_dead(tmp_path: Path) -> None:
    first = start(tmp_path, 0.5)
    wait_for_the_first_batch(first)
    second = start(tmp_path, 0, "--resume")
    _, said = second.communicate(timeout=300)
    assert second.returncode == 1
    assert f"is in use by another run (process {first.pid})" in said
    first.kill()
    first.communicate()
    finish(tmp_path)


@pytest.fixture
def tiny_disk(tmp_path: Path):
    """A file system of a few kilobytes, where the machine lets us mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_really_full(tiny_disk: Path) -> None:
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(8192))
    process = start(tiny_disk, 0)
    wait_for_the_first_batch(process)
    process.communicate()
    ballast.write_bytes(bytes(8192))
    before = (tiny_disk / "checkpoint.safetensors").read_bytes()
    (tiny_disk / "checkpoint.safetensors").unlink()
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(10**6))
    process = start(tiny_disk, 0)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said.startswith("error: ")
    assert "the disk is full; free some space" in said
    assert "Traceback" not in said
    assert not list(tiny_disk.glob("*.partial")) + list(tiny_disk.glob(".*.partial"))
    ballast.unlink()
    finish(tiny_disk)
    assert (tiny_disk / "checkpoint.safetensors").read_bytes() == before
