"""`headlight survey` as a process: killed, interrupted, watched for its memory."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import xarray

from forked import Forked
from headlight.result import load
from headlight.studies.survey.per_text import FILE
from random_moments import random_moments
from studies.models import saved, texts
from studies.processes import run, start

SHARD = 256
SHARDS = 5
KILLS = int(os.environ.get("HEADLIGHT_KILLS", "1"))
"""Beside one interruption; `make fuzz` tries many more."""


def corpus_file(path: Path, number: int, longest: int = 30) -> Path:
    """One text per line."""
    path.write_text("\n".join(texts(number, longest=longest, seed=6)) + "\n")
    return path


def wait_for_progress(process: subprocess.Popen[str], checkpoint: Path) -> None:
    """Wait until this process has added a shard to the checkpoint."""
    before = _changed(checkpoint)
    while _changed(checkpoint) in (0, before):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)


def _changed(path: Path) -> int:
    """When it was written; 0 where it is not there, as at the end of a run."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def assert_identical(one: xarray.Dataset, other: xarray.Dataset) -> None:
    assert set(one.variables) == set(other.variables)
    for name in one.variables:
        assert one[name].values.tobytes() == other[name].values.tobytes(), name
    for attribute in ("corpus_digest", "examples", "tokens", "truncated", "settings"):
        assert one.attrs[attribute] == other.attrs[attribute]


@pytest.mark.slow
def test_interrupted_and_killed_at_random_moments_and_resumed_gives_the_same_bits(tmp_path):
    model = saved("bert", tmp_path / "model")
    corpus = corpus_file(tmp_path / "corpus.txt", SHARDS * SHARD - 100)
    options = ("--format", "lines", "--model", model, "--max-length", 24, "--batch-tokens", 1024)
    options = (*options, "--per-text", "sep,entropy")
    out, whole = tmp_path / "out", tmp_path / "whole"
    checkpoint = out / "checkpoint.safetensors"
    generator = random_moments()

    process = start("survey", corpus, *options, "--out", out, popen=Forked)
    wait_for_progress(process, checkpoint)
    process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=300)
    assert process.returncode == 130
    assert complained.startswith("error: interrupted; ")
    assert "--resume" in complained
    assert complained.count("\n") == 1

    kills = 0
    while kills < KILLS and not (out / "result.nc").exists():  # a quick machine may be done early
        process = start("survey", corpus, *options, "--out", out, "--resume", popen=Forked)
        wait_for_progress(process, checkpoint)
        time.sleep(generator.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        kills += 1
    assert kills

    code, said, _ = run("survey", corpus, *options, "--out", out, "--resume", popen=Forked)
    assert code == 0
    assert f"report: {out / 'report.html'}" in said
    code, said, _ = run("survey", corpus, *options, "--out", whole, popen=Forked)
    assert code == 0
    assert "were cut at the limit of tokens" in " ".join(said.split())
    resumed, at_once = (load(folder / "result.nc", stage="survey") for folder in (out, whole))
    assert resumed.attrs["examples"] == SHARDS * SHARD - 100
    assert_identical(resumed, at_once)
    assert (out / FILE).read_bytes() == (whole / FILE).read_bytes()
    assert not list(out.rglob("*.partial"))


# The peak that the kernel reports with the end of a process begins with that of its parent.
WATCHED = """
from pathlib import Path
from headlight.cli import main
try:
    main()
finally:
    print(Path("/proc/self/status").read_text())
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is in /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    model = saved("bert", tmp_path / "model")
    line = " ".join(texts(400, longest=30, seed=8))  # longer than the limit by far: much text
    peaks = []
    for copies in (80, 400):
        corpus, out = tmp_path / f"{copies}.txt", tmp_path / str(copies)
        corpus.write_text(f"{line}\n" * copies)
        code, said, complained = run(
            "survey", corpus, "--format", "lines", "--model", model, "--max-length", 16,
            "--out", out, program=WATCHED,
        )  # fmt: skip
        assert code == 0, complained
        peaks.append(int(re.search(r"VmHWM:\s+(\d+) kB", said)[1]))
    assert corpus.stat().st_size > 6e6
    assert peaks[1] < 1.03 * peaks[0], peaks
