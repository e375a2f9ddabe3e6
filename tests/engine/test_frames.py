"""One way through: few calls between a command and the observer of a layer, none of one name."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import headlight
from headlight.cli.program import main
from headlight.studies.survey.observer import HeadsObserver

MOST = 14
OURS = str(Path(headlight.__file__).parent)


@contextmanager
def frames_at(function: Any) -> Iterator[list[str]]:
    """The names of our functions on the stack when a function is first called."""
    names: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code is not function.__code__:
            return
        at: FrameType | None = frame
        while at is not None:
            if at.f_code.co_filename.startswith(OURS):
                names.insert(0, at.f_code.co_name)
            at = at.f_back
        sys.setprofile(None)

    sys.setprofile(look)
    try:
        yield names
    finally:
        sys.setprofile(None)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_few_calls_stand_between_a_command_and_a_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        "survey",
        "--max-examples",
        "4",
        "--measures",
        "weight",
        "--out",
        str(tmp_path / "run"),
    ]
    monkeypatch.setattr(sys, "argv", ["headlight", *words])
    with frames_at(HeadsObserver.visit) as names, pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert names[0] == "main"
    assert names[-1] == "visit"
    assert len(names) <= MOST, names
    assert len(set(names)) == len(names), names
