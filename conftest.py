"""What tests share."""

import gc
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

# A machine at work may take long for any example.  A test of one version tries the same examples on
# every machine; `make fuzz` looks for others.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")

# Nobody cuts the power of a machine that tests, and each of thousands of files would wait for its
# disk.  What is to happen before and after is tested all the same, by what stands in this place.
os.fsync = lambda descriptor: None

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets nobody interrupt what it began in the background, nor what is begun from there;
    # some tests interrupt processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["durations"]

WHOLE_RUNS = {"material", "study_runs"}
"""Fixtures that run studies and reproductions as users do."""
DRAWN = ("drawn", "browser", "real")
"""Marks of tests whose pages have pictures."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow and what needs another distribution.

    What waits for a whole run is slow.  What needs a distribution is skipped where it is missing.
    """
    from headlight.catalogue import DISTRIBUTIONS

    missing = [each for each in DISTRIBUTIONS.values() if find_spec(each.package) is None]
    for item in items:
        values = item.callspec.params if hasattr(item, "callspec") else {}
        for each in DISTRIBUTIONS.values():
            if any(values.get(name) in each.contents for name in ("name", "stage", "study")):
                item.add_marker(each.extra)
        for each in missing:
            if item.get_closest_marker(each.extra):
                item.add_marker(pytest.mark.skip(reason=f"{each.name} is not installed"))
        if WHOLE_RUNS & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Collect garbage seldom, and not among what is imported by now, which stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


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


@pytest.fixture(autouse=True, scope="session")
def _patient() -> Iterator[None]:
    """Nothing lasts long enough to be named on standard error, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headlight.engine.progress.AWHILE", 3_600.0)
        yield


@pytest.fixture(autouse=True)
def _sketched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of pages are made, but neither laid out nor written, unless the test looks at them.

    Both are most of what a page costs.  Whole runs, which several tests look at, have theirs.
    """
    if not any(map(request.node.get_closest_marker, DRAWN)):
        from headlight.views.parts import Drawing
        from views.pages import sketch

        monkeypatch.setattr(Drawing, "svg", property(sketch))


@pytest.fixture
def undrawn(_sketched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that a test makes have frames without pictures: not even figures are made."""
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
