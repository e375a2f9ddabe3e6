"""The command `headlight` inside this process, which is quick once everything is imported."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headlight.cli.program import main


def as_options(settings: Mapping[str, Any], before: str = "-") -> Iterator[str]:
    """Settings as they are typed."""
    for name, value in settings.items():
        option = f"{before}-{name.replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from as_options(value, option)
        elif isinstance(value, bool):
            yield option if value else option.replace("--", "--no-", 1)
        else:
            yield from (
                option,
                ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value),
            )


class Command:
    """Calls the command line as a shell does, and keeps what it says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, output, errors."""
        self._monkeypatch.setattr(sys, "argv", ["headlight", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    def refused(self, *arguments: str | Path, code: int = 1) -> str:
        """The one sentence with which it refuses."""
        found, said, complained = self(*arguments)
        assert found == code, complained
        assert said == ""
        lines = complained.splitlines()
        assert len(lines) == 1, complained
        assert lines[0].startswith("error: ")
        assert "Traceback" not in complained
        return lines[0].removeprefix("error: ")


def done(*arguments: object) -> None:
    """Run a command to its end, as a user would, where there is no test yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["headlight", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
