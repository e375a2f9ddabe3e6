"""A plugin of pytest that writes how long each test took: `--keep-durations FILE`, JSON lines.

Beside the time on the clock stands that of the processor, of child processes that have ended as
well: it says what a test costs on a machine that does other work besides.  Fixtures that several
tests share are in the setup of the first test that asks for them.
"""

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PROCESSOR = "processor seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-durations", type=Path, help="write the duration of each test here")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--keep-durations")
    if path and not hasattr(config, "workerinput"):  # workers of xdist report to one process
        config.pluginmanager.register(_KeptDurations(Path(path)))


def processor_seconds() -> float:
    """Return the time that this process and its ended children have had of a processor."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _timed(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _timed(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from _timed(item))


def _timed(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run one phase of a test; its report takes the seconds to the process that writes them."""
    begin = processor_seconds()
    try:
        return (yield)
    finally:
        others = [each for each in item.user_properties if each[0] != PROCESSOR]
        item.user_properties[:] = [*others, (PROCESSOR, processor_seconds() - begin)]


class _KeptDurations:
    """One line a test, written when the test has ended."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self._rows: dict[str, dict[str, float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = self._rows.setdefault(report.nodeid, {"clock": 0.0, "processor": 0.0})
        seconds = float(str(dict(report.user_properties).get(PROCESSOR, 0.0)))
        row["clock"] += report.duration
        row["processor"] += seconds
        row[str(report.when)] = seconds
        if report.when == "teardown":
            rounded = {name: round(value, 4) for name, value in row.items()}
            self._file.write(f"{json.dumps({'test': report.nodeid} | rounded)}\n")
            self._file.flush()
            del self._rows[report.nodeid]

    def pytest_unconfigure(self) -> None:
        self._file.close()
