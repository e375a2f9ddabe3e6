"""What tests share."""

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxtyping
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from frozen_runs import Material
    from studies.command import Command
    from study_runs import StudyRuns

# A machine at work may take long for any example.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets nobody interrupt what it began in the background, nor what is begun from there;
    # some tests interrupt processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["durations"]

WHOLE_RUNS = {"material", "study_runs"}
"""Fixtures that run studies and reproductions as users do."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for a whole run is slow, and what asks papers is skipped where there are none."""
    from headlight.catalogue import IN_PAPERS

    for item in items:
        values = item.callspec.params if hasattr(item, "callspec") else {}
        if any(values.get(each) in IN_PAPERS for each in ("name", "stage", "study")):
            item.add_marker("papers")
        if item.get_closest_marker("papers") and find_spec("headlight_papers") is None:
            item.add_marker(pytest.mark.skip(reason="headlight-papers is not installed"))
        if WHOLE_RUNS & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Types are not checked, so that a wrong value meets the refusal that users see."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def headlight(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Command":
    """The command, which is called as a shell calls it."""
    from studies.command import Command

    return Command(monkeypatch, capsys)


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that a test makes have frames without pictures, which are most of their cost."""
    if not WHOLE_RUNS & {*request.fixturenames}:  # what these make, all look at
        from headlight.views.parts import Drawing
        from views.pages import BLANK

        monkeypatch.setattr(Drawing, "svg", BLANK)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; not one for all modules, whose loops Playwright's would be in the way of."""
    from views.browsers import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all processes of the session; see `Shared`."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each has a folder of its own in that of all
        folder = folder.parent
    return folder


@pytest.fixture(scope="session")
def material(shared_folder: Path) -> "Material":
    """Tiny models and data, each made once in a session."""
    from frozen_runs import Material

    (shared_folder / "material").mkdir(exist_ok=True)
    return Material(shared_folder / "material")


@pytest.fixture(scope="session")
def study_runs(shared_folder: Path) -> "StudyRuns":
    """A run of each study, made once in a session."""
    from study_runs import StudyRuns

    (shared_folder / "studies").mkdir(exist_ok=True)
    return StudyRuns(shared_folder / "studies")
