"""The lock of a folder: one run at a time, nothing overwritten, nothing left behind."""

import os
from pathlib import Path

import pytest

from engine.corpus import files
from headlight.engine.folder import RunFolder
from headlight.engine.lock import locked
from headlight.errors import RunError


def test_only_one_run_at_a_time_and_nothing_is_left(tmp_path: Path) -> None:
    for _ in range(2):  # free again
        with (
            locked(tmp_path / "a" / "b"),
            pytest.raises(RunError, match=rf"in use by another run \(process {os.getpid()}\)"),
            locked(tmp_path / "a" / "b"),
        ):
            raise AssertionError("two at once")
        assert files(tmp_path / "a") == set()  # nothing was written
    (tmp_path / "mine").mkdir()
    with locked(tmp_path / "mine"):
        assert files(tmp_path / "mine") == {".lock"}
    assert files(tmp_path / "mine") == set()


def test_a_read_only_folder_is_refused(tmp_path: Path, monkeypatch) -> None:
    def read_only(*arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("headlight.engine.lock.os.open", read_only)
    with (
        pytest.raises(RunError, match="cannot be used: the folder is read-only"),
        locked(tmp_path),
    ):
        raise AssertionError("went on")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("I was here first")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RunError, match="cannot be used"), locked(folder):
            raise AssertionError("went on")
    assert (tmp_path / "file").read_text() == "I was here first"


@pytest.mark.parametrize("link", ["symbolic", "dangling", "folder"])
def test_a_lock_that_is_a_link_is_refused_and_its_target_untouched(
    tmp_path: Path, link: str
) -> None:
    target, folder = tmp_path / "target", tmp_path / "run"
    target.write_text("precious")
    folder.mkdir()
    if link == "folder":
        (folder / ".lock").mkdir()
    else:
        (folder / ".lock").symlink_to(target if link == "symbolic" else tmp_path / "none")
    with pytest.raises(RunError, match="run cannot be used"), locked(folder):
        raise AssertionError("went on")
    assert target.read_text() == "precious"
    assert files(tmp_path) == {"target", "run"}


def test_what_killed_processes_have_left_half_written_is_cleared_away(tmp_path: Path) -> None:
    kept = {"a.nc", "a.nc.partial", ".a.nc.partial", ".a.nc.one.partial", "tables", "other"}
    for name in ("tables", "other"):
        (tmp_path / name).mkdir()
    for name in (".a.nc.12.partial", ".a.nc.12.13.partial", "tables/.b.csv.7.8.partial"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "other" / ".c.nc.7.8.partial").write_bytes(b"of another run, which is at it")
    for name in kept - {"tables", "other"}:
        (tmp_path / name).write_bytes(b"whole")
    with RunFolder(path=tmp_path, overwrite=True, holds=(), writes=()).opened():
        assert files(tmp_path) == {*kept, ".lock"}
        assert files(tmp_path / "tables") == set()
        assert files(tmp_path / "other") == {".c.nc.7.8.partial"}
    assert files(tmp_path) == kept


def test_tables_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tables").symlink_to(tmp_path / "other", target_is_directory=True)
    for how in ({}, {"resume": True}, {"overwrite": True}, {"workers": 1}):
        with pytest.raises(RunError, match="tables is a link, where"):
            RunFolder(path=tmp_path / "run", **how).check_free()
