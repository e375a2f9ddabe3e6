"""How long tests take is kept, also by several processes, and compared."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "durations.py"))
TESTS = """
import subprocess, sys, time
import pytest

BUSY = "import time\\nbegin = time.process_time()\\nwhile time.process_time() < begin + 0.3: pass"

@pytest.fixture
def busy():
    exec(BUSY, {})

def test_setup(busy): ...
def test_child(): subprocess.run([sys.executable, "-c", BUSY], check=True)
def test_asleep(): time.sleep(0.3)
def test_failing(): assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one", "two"])
def test_each_test_has_a_line(tmp_path: Path, processes: list[str]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    kept = tmp_path / "kept" / "some.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "durations", "-p", "no:cacheprovider"]
    subprocess.run(
        [*command, "--keep-durations", kept, *processes, "--rootdir", tmp_path, tmp_path],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        check=False,
        capture_output=True,
    )
    rows = {row["test"].partition("::")[2]: row for row in map(json.loads, kept.open())}
    assert set(rows) == {"test_setup", "test_child", "test_asleep", "test_failing"}
    assert rows["test_setup"]["setup"] > 0.2 > rows["test_setup"]["call"]
    assert rows["test_child"]["processor"] > 0.2
    assert rows["test_asleep"]["clock"] > 0.2 > rows["test_asleep"]["processor"]


def test_the_slowest_come_first(tmp_path: Path) -> None:
    seconds = {"a": 0.5, "b": 2.0, "c": 1.0}
    path = tmp_path / "checked.jsonl"
    path.write_text("\n".join(json.dumps({"test": t, "processor": s}) for t, s in seconds.items()))
    lines = SCRIPT["slowest"](SCRIPT["read"](tmp_path))
    assert [line.split() for line in lines] == [
        ["3.5", "checked,", "3", "tests"], [], ["2.0", "b"], ["1.0", "c"], ["0.5", "a"],
    ]  # fmt: skip
    assert SCRIPT["read"](path) == SCRIPT["read"](tmp_path)


def test_only_what_became_much_slower_is_listed() -> None:
    before = {"all": {"gone": 9.0, "tiny": 0.01, "slow": 10.0, "slower": 1.0, "slowest": 1.0}}
    after = {"all": {"new": 9.0, "tiny": 0.2, "slow": 12.0, "slower": 1.6, "slowest": 3.0}}
    lines = SCRIPT["slower"](before, after)
    assert [line.split() for line in lines] == [["1.0", "3.0", "slowest"], ["1.0", "1.6", "slower"]]
