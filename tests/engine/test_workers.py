"""Runs that several processes share: the bits of one process, and what is refused."""

import io
import json
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import headlight
from cli.program import command
from headlight.capture.torch_settings import one_thread
from headlight.catalogue import find_study
from headlight.engine.file_names import CLAIMS, PLAN, SHARED
from headlight.engine.folder import OpenFolder, RunFolder
from headlight.engine.workers import device_of, local_workers
from headlight.errors import HeadlightWarning, RunError, UsageError
from headlight.files import location
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as run_survey
from interruptions import interrupted_after
from open_folders import opening
from studies.models import model, texts

pytestmark = pytest.mark.usefixtures("undrawn")

survey = opening(run_survey)

SETTINGS = SurveySettings(max_length=16)


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 4)


def alone(number: int):
    with one_thread():
        return survey(texts(number), model("bert"), SETTINGS, progress=False)


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
def test_one_that_joins_alone_finds_what_one_process_finds(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path, workers="join")
    found = survey(texts(19), model("bert"), SETTINGS, folder=folder, progress=False)
    assert found.drop_attrs().identical(alone(19).drop_attrs())
    assert found.attrs["corpus_digest"] == alone(19).attrs["corpus_digest"]
    assert {path.name for path in tmp_path.iterdir()} == {".headlight", "result.nc"}


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
def test_a_store_can_be_shared(tmp_path: Path) -> None:
    address = f"memory://{tmp_path}/run"
    folder = RunFolder(path=address, workers="join")
    found = survey(texts(9), model("bert"), SETTINGS, folder=folder, progress=False)
    assert found.drop_attrs().identical(alone(9).drop_attrs())
    names = {path.name for path in location(address).iterdir() if path.is_file()}
    assert names == {".headlight", "result.nc"}


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("later", [{"resume": True}, {"workers": 1}])
def test_what_one_began_others_go_on_with(later: dict, tmp_path: Path) -> None:
    whole = alone(19)
    first = RunFolder(path=tmp_path, workers="join" if "resume" in later else None)
    stops = pytest.raises(headlight.errors.RunInterruptedError, match="interrupted")
    with interrupted_after(2), one_thread(), stops:
        survey(texts(19), model("bert"), SETTINGS, folder=first, progress=False)
    folder = RunFolder(path=tmp_path, **later)
    with one_thread():
        found = survey(texts(19), model("bert"), SETTINGS, folder=folder, progress=False)
    assert found.drop_attrs().identical(whole.drop_attrs())


@pytest.mark.slow
def test_other_processes_of_this_machine_work_as_well(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(f"Line {place} is short." for place in range(600)))
    options = {"max_length": 16, "passages": False, "progress": False}
    with one_thread():
        expected = headlight.survey(corpus, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a worker that ended early
        found = headlight.survey(corpus, out=tmp_path / "run", workers=2, **options)
    assert found.drop_attrs().identical(expected.drop_attrs())
    assert (tmp_path / "run" / "report.html").exists()
    assert not (tmp_path / "run" / PLAN).exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.kill(os.getpid(), 9)", "it was killed, as systems do when memory"),
        ("raise SystemExit('error: the run holds other settings.')", "holds other settings"),
    ],
)
def test_a_worker_that_ends_early_is_one_sentence(
    code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: object, output, errors) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=output, stderr=errors)
        process.wait()
        return process

    monkeypatch.setattr("headlight.engine.workers._start", start)
    folder = OpenFolder(RunFolder(path=tmp_path, workers=2), shared=True)
    working = local_workers(find_study("survey"), {}, folder, model("bert"))
    with pytest.warns(HeadlightWarning, match=message), working:
        pass


@pytest.mark.parametrize("output", ["", "report: run/report.html"])
def test_a_worker_that_has_done_nothing_is_an_error(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: object, out, errors) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", f"print({output!r}, end='')"], stdout=out)
        process.wait()
        return process

    monkeypatch.setattr("headlight.engine.workers._start", start)
    folder = OpenFolder(RunFolder(path=tmp_path, workers=2), shared=True)
    working = local_workers(find_study("survey"), {}, folder, model("bert"))
    refused = pytest.raises(RunError, match="a worker ended without a result and without a word")
    with nullcontext() if output else refused, working:
        pass


def test_on_the_terminal_a_warning_is_one_sentence() -> None:
    code = """
import sys, warnings
import headlight.cli.program as program
from headlight.errors import HeadlightWarning

def run(arguments, standalone_mode):
    warnings.warn("a worker ended early.", HeadlightWarning)

program.app = run
program.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "note: a worker ended early.\n"


@pytest.mark.parametrize("trust", [False, True])
def test_workers_trust_code_if_the_user_does(
    trust: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def start(command: list[str], output, errors) -> subprocess.Popen[bytes]:
        commands.append(command)
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    monkeypatch.setattr("headlight.engine.workers._start", start)
    trusted = replace(model("bert"), trust_remote_code=trust)
    folder = OpenFolder(RunFolder(path=tmp_path, workers=3), shared=True)
    with local_workers(find_study("survey"), {}, folder, trusted):
        pass
    assert ["--trust-remote-code" in command for command in commands] == [trust, trust]


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
def test_status_and_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join(f"Line {place} is short." for place in range(10)))
    run = tmp_path / "run"
    arguments = [str(corpus), "--max-length", "16", "--no-passages", "--out", str(run)]
    assert command(["status", str(tmp_path)]) == UsageError.exit_code
    assert "holds no run" in capsys.readouterr().err
    stop_before_the_result(arguments)
    assert command(["status", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["finished"] is False
    assert found["passes"] == [{"pass": "survey", "blocks": 3, "examples": 10, "workers": 0}]
    assert command(["merge", str(run)]) == 0
    assert command(["status", str(run)]) == 0
    assert "finished" in capsys.readouterr().out
    assert headlight.open(run).attrs["examples"] == 10


def stop_before_the_result(arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def stop(*_: object) -> None:
            raise RunError("stopped here.")

        patch.setattr("headlight.engine.blocks.SharedBlocks.merged", stop)
        assert command(["survey", *arguments, "--workers", "join"]) == RunError.exit_code


@pytest.mark.parametrize(
    ("study", "source", "options", "message"),
    [
        ("survey", "x.txt", {"workers": 0, "out": "run"}, "workers is 0"),
        ("survey", "x.txt", {"workers": "many", "out": "run"}, "workers is many"),
        ("survey", "x.txt", {"workers": 2}, "workers share a folder"),
        ("survey", ["a text"], {"workers": 2, "out": "run"}, "each worker reads the corpus"),
        ("survey", "-", {"workers": "join", "out": "run"}, "each worker reads the corpus"),
        ("token_identity", "x.txt", {"workers": 2, "out": "run"}, "token_identity trains models"),
        ("survey", None, {"workers": "join", "out": "run", "overwrite": True}, "would remove"),
    ],
)
def test_what_cannot_be_shared_is_refused(
    study: str, source, options, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A text.\n")))
    Path("x.txt").write_text("A text.\n")
    with pytest.raises(UsageError, match=message):
        getattr(headlight, study)(source, progress=False, **options)
    assert not Path("run").exists()


def test_of_several_devices_each_worker_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    devices = [device_of(torch.device("cuda", 0), number) for number in range(4)]
    assert devices == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert device_of(torch.device("cpu"), 1) == "cpu"


def test_a_run_with_workers_is_seen_before_it_has_a_plan(tmp_path: Path) -> None:
    """By one without, which is refused, until it has ended; and the other way round."""
    shared, alone_ = RunFolder(path=tmp_path, workers=1), RunFolder(path=tmp_path)
    with shared.opened() as mine, RunFolder(path=tmp_path, workers="join").opened():
        with pytest.raises(UsageError, match="holds a run already"), alone_.opened():
            pass
        mine.tidy()
    with alone_.opened():
        with pytest.raises(RunError, match="in use by a run without workers"), shared.opened():
            pass
        assert {path.name for path in tmp_path.iterdir()} == {".headlight", ".lock"}
    with alone_.opened():
        pass


def test_who_goes_on_beside_workers_joins_them(tmp_path: Path) -> None:
    """Also before there is a plan; what they are about to write stays theirs when it ends."""
    with RunFolder(path=tmp_path, workers="join").opened() as first:
        with RunFolder(path=tmp_path, resume=True).opened() as second:
            assert second.shared
        (tmp_path / "result.nc").write_bytes(b"of the first")
        assert first.output is not None
        first.output.claim(["result.nc"])
        first.tidy()
    with RunFolder(path=tmp_path, resume=True).opened() as alone_:
        assert not alone_.shared


def test_what_is_left_of_workers_that_are_ended_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One had just begun, another was at a block when the first put all of them away."""

    def start(*_: object) -> subprocess.Popen[bytes]:
        (tmp_path / SHARED).touch()
        (tmp_path / CLAIMS).mkdir()
        (tmp_path / CLAIMS / f"{0:09d}-{'a' * 16}.json").write_text("{}")
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    monkeypatch.setattr("headlight.engine.workers._start", start)
    folder = OpenFolder(RunFolder(path=tmp_path, workers=2), shared=True)
    with local_workers(find_study("survey"), {}, folder, model("bert")):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
def test_the_share_of_the_corpus_is_the_same_however_it_was_read(tmp_path: Path) -> None:
    corpus = tmp_path / "texts.txt"
    corpus.write_text("\n\n".join(texts(19)))
    settings = replace(SETTINGS, max_examples=7)

    def share(folder: RunFolder) -> float:
        found = survey(str(corpus), model("bert"), settings, folder=folder, progress=False)
        return found.attrs["corpus_share"]

    first = share(RunFolder())
    assert first == len("\n\n".join([*texts(19)[:7], ""])) / corpus.stat().st_size
    assert share(RunFolder(path=tmp_path / "shared", workers="join")) == first
    with interrupted_after(1), pytest.raises(headlight.errors.RunInterruptedError):
        share(RunFolder(path=tmp_path / "resumed"))
    assert share(RunFolder(path=tmp_path / "resumed", resume=True)) == first
    settings = replace(SETTINGS, max_examples=20)
    assert "corpus_share" not in survey(str(corpus), model("bert"), settings, progress=False).attrs


@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("workers", ["join", None])
def test_who_rounds_otherwise_is_refused(
    workers: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(**how: object) -> object:
        folder = RunFolder(path=tmp_path, **how)
        return survey(texts(19), model("bert"), SETTINGS, folder=folder, progress=False)

    stops = pytest.raises(headlight.errors.RunInterruptedError)
    with interrupted_after(2), one_thread(), stops:
        go_on(workers=workers)
    later = {"workers": workers} if workers else {"resume": True}
    with monkeypatch.context() as patch, one_thread():
        patch.setattr("headlight.engine.passes.rounding_of", lambda device: "another")
        with pytest.raises(RunError, match=r'rounded otherwise: ".*" there, "another" here'):
            go_on(**later)
    with one_thread():
        assert go_on(**later).drop_attrs().identical(alone(19).drop_attrs())


ROUNDING = """
import torch
from headlight.engine.rounding import rounding_of
print(rounding_of(torch.device("cpu")))
x = torch.rand(64, 200, generator=torch.Generator().manual_seed(0))
print((x @ x.T).numpy().tobytes().hex())
"""


def rounding(**environment: str) -> tuple[str, str]:
    """Return how a process says that it rounds, and the bits of a product that it makes."""
    path = os.pathsep.join(path for path in sys.path if path)
    every = {**os.environ, "PYTHONPATH": path, **environment}
    said = subprocess.check_output([sys.executable, "-c", ROUNDING], text=True, env=every)
    name, bits = said.splitlines()
    return name, bits


@pytest.mark.long
def test_rounding_is_told_by_kernels_and_not_by_threads() -> None:
    """MKL chooses its kernels by itself, whatever instructions torch says that it uses."""
    own, product = rounding(OMP_NUM_THREADS="1")
    assert rounding(OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="4")[0] == own
    other, bits = rounding(OMP_NUM_THREADS="1", MKL_CBWR="COMPATIBLE")
    if bits == product:
        pytest.skip("MKL has one way to multiply on this processor, or is not there")
    assert other != own
