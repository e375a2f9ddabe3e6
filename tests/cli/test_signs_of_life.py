"""Commands that last a while say what they do, in a line on standard error."""

import io
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cli.test_refused_before_a_model import COMMANDS
from headlight.catalogue import studies
from headlight.cli.commands import BUILT_IN
from headlight.engine.progress import announced, show_progress
from long_cases import mostly_long
from reading.test_generation import decoder
from studies.command import Command

SILENT = {"status": "reads names of files", "merge": "is the command of the run's study"}
"""Commands without a line of their own, and why."""
OF_RESULTS = {
    "aer": ("aer", "gold.talp", "gold.talp"),
    "compare": ("compare", "run", "run"),
    "gallery": ("gallery", "run", "--out=site"),
    "heads": ("heads", "run", "sink"),
}


class Slow:
    """A timer for what lasts longer than it waits, whatever the clock says."""

    def __init__(self, wait: float, say: Any, arguments: Any) -> None:
        assert wait > 0
        self._say = (say, arguments)
        self.daemon = False

    def start(self) -> None:
        assert self.daemon
        say, arguments = self._say
        say(*arguments)

    def cancel(self) -> None:
        pass


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.engine.progress.Timer", Slow)


def test_what_lasts_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said = threading.Event()

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            if text == "\n":
                said.set()
            return super().write(text)

    monkeypatch.setattr("headlight.engine.progress.AWHILE", 0.0)
    stream = Stream()
    with announced("loading \x1b[31mgpt2", stream):
        assert said.wait(60)  # it is slow: it does not end before
    assert stream.getvalue() == "loading \\x1b[31mgpt2 …\n"


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), announced("loading gpt2", stream):
        _ = 1 / 0
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60)
    assert threading.active_count() <= before
    assert stream.getvalue() == ""


def test_it_stands_above_a_bar(slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(10) as bar:
        with announced("writing the report"):
            pass
        bar.advance(10, 100)
    lines = stream.getvalue().replace("\r", "\n").splitlines()
    assert "writing the report …" in lines


def _stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def folder_of_decoder(place: Path) -> Path:
    model = decoder()
    for part in (model.transformer, model.tokenizer):
        part.save_pretrained(place / "decoder")
    return place / "decoder"


KEPT = ("survey", "distances", "alignment", "read", "predict", "serve", "gallery")


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long([*BUILT_IN, *studies()], *KEPT))
def test_every_command_names_what_it_does(
    name: str,
    headlight: Command,
    slow: None,
    study_runs: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loading and reading each have a line; a model that takes a minute for either is no riddle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headlight.serve.server.serve", lambda load, **_: load())
    study = studies().get(name)
    if name in SILENT:
        return
    if name in OF_RESULTS:
        Path("gold.talp").write_text("1-1\n")
        Path("run").symlink_to(study_runs.folder("survey"), target_is_directory=True)
        _, _, said = headlight(*OF_RESULTS[name])
        assert "links …" in said or "heads …" in said
        return
    command = study.command if study else name
    if study:
        monkeypatch.setattr("headlight.reports.study_run.run_study", _stop)
    model = ("--model", folder_of_decoder(tmp_path)) if name in ("generate", "sources") else ()
    _, _, said = headlight(*COMMANDS[command], *model)
    lines = [line for line in said.splitlines() if line.endswith(" …")]
    assert lines[0].startswith("loading ")
    assert len(lines) >= 1 + (name != "serve"), said


@pytest.mark.slow
def test_a_report_that_lasts_is_named(headlight: Command, slow: None, tmp_path: Path) -> None:
    corpus = tmp_path / "a.txt"
    corpus.write_text("The cat sees a dog.\n\nThe dog runs home.\n")
    code, _, said = headlight("distances", corpus, "--out", tmp_path / "run")
    assert code == 0
    assert "writing the report …" in said
