"""What tests of several processes share is made once, and made anew if it came to no end."""

import subprocess
import sys
from pathlib import Path

import pytest

import shared
from shared import Shared

PROGRAM = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from shared import Shared

def fill(folder):
    folder.mkdir()
    (folder / "begun").touch()
    time.sleep(0.3)
    (folder / str(os.getpid())).touch()

found = Shared(Path(sys.argv[2]))("a", fill)
print(len(list(found.iterdir())))
"""


def test_one_of_many_processes_fills_a_folder_and_the_others_wait(tmp_path: Path) -> None:
    home = str(Path(shared.__file__).parent)
    command = [sys.executable, "-c", PROGRAM, home, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=300)[0] for process in started] == ["2\n"] * 3
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_what_came_to_no_end_is_made_anew(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Shared(tmp_path)("a", half)
    assert list(Shared(tmp_path)("a", Path.mkdir).iterdir()) == []
