"""Files whole or not at all, on this machine and in a store."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from safetensors.numpy import save
from upath import UPath

from headlight import files, tensor_files
from headlight.errors import ResultError, RunError
from random_moments import flips


@pytest.fixture(params=["here", "memory", "file"])
def folder(request, tmp_path: Path) -> files.Location:
    if request.param == "here":
        return files.make_folder(tmp_path / "a" / "b")
    place = f"memory://{tmp_path}" if request.param == "memory" else f"file://{tmp_path}"
    return files.make_folder(files.location(f"{place}/a/b"))


def test_addresses_of_stores_are_places_like_folders(tmp_path: Path) -> None:
    assert files.location(str(tmp_path)) == tmp_path
    assert files.location(tmp_path) is tmp_path
    assert files.location(f"file://{tmp_path}") == tmp_path
    store = files.location("memory://bucket/folder")
    assert isinstance(store, UPath)
    assert str(store / "a.txt") == "memory://bucket/folder/a.txt"


def test_a_store_without_a_driver_is_refused() -> None:
    with pytest.raises(RunError, match=r"^nothing://bucket/folder cannot be used: .*nothing"):
        files.location("nothing://bucket/folder", error=RunError)


def test_a_file_is_replaced_as_a_whole(folder: files.Location) -> None:
    for content in (b"first", b"second"):
        files.write(folder / "a", content)
        assert files.read(folder / "a") == content
    assert [each.name for each in folder.iterdir()] == ["a"]


def test_a_file_that_is_missing_is_one_sentence(folder: files.Location) -> None:
    with pytest.raises(ResultError, match="a cannot be read: there is no such file"):
        files.read(folder / "a")


@pytest.mark.parametrize("write", [files.write, files.write_new])
def test_what_others_take_for_left_by_a_killed_process_is_written_again(
    write: Callable[[Path, bytes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs go on in one folder, and one clears it as the other is about to give a name."""
    through, times = files._write_through, 0

    def cleared(path: Path, content: bytes) -> None:
        nonlocal times
        through(path, content)
        times += 1
        if times < 3:
            files.remove_partials(tmp_path)

    monkeypatch.setattr(files, "_write_through", cleared)
    write(tmp_path / "a", b"whole")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"a": b"whole"}


@pytest.mark.parametrize("write", [files.write, files.write_new])
def test_a_folder_that_vanishes_is_one_sentence(
    write: Callable[[Path, bytes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through, folder = files._write_through, tmp_path / "run"

    def vanished(path: Path, content: bytes) -> None:
        through(path, content)
        rmtree(folder)

    monkeypatch.setattr(files, "_write_through", vanished)
    folder.mkdir()
    with pytest.raises(ResultError, match="a cannot be written: there is no such folder"):
        write(folder / "a", b"whole")


def test_a_store_that_fails_is_one_sentence(monkeypatch) -> None:
    class QuotaError(Exception):
        """Such as drivers have, outside the tree of OSError."""

    def full(*arguments):
        raise QuotaError("the bucket is full")

    place = files.location("memory://bucket/a")
    monkeypatch.setattr(type(place), "write_bytes", full)
    with pytest.raises(RunError, match="a cannot be written: the bucket is full"):
        files.write(place, b"x", error=RunError)


def test_tensors_come_back_bit_for_bit(folder: files.Location) -> None:
    tensors = {
        "scalar": np.array(0.1),
        "none": np.zeros((0, 3), dtype=np.int64),
        "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "flags": np.array([True, False]),
    }
    tensor_files.save_tensors(folder / "a", tensors, {"kind": "x", "notes": [1, None]})
    found, header = tensor_files.load_tensors(folder / "a")
    assert header == {"kind": "x", "notes": [1, None]}
    assert found.keys() == tensors.keys()
    for name, expected in tensors.items():
        np.testing.assert_array_equal(found[name], expected, strict=True)
        assert found[name].flags.writeable


def test_tensors_of_the_same_content_are_the_same_bytes(tmp_path: Path) -> None:
    one, other = {"a": np.zeros(2), "b": np.ones(3)}, {"b": np.ones(3), "a": np.zeros(2)}
    for name, tensors in (("one", one), ("other", other)):
        tensor_files.save_tensors(tmp_path / name, tensors, {})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path, header = tmp_path / "a", {"kind": "x", 3: None, 20: "y"}
    tensors = {"one": np.arange(40.0), "two": np.zeros((0, 3)), "three": np.array(7)}
    tensor_files.save_tensors(path, tensors, header)
    content = path.read_bytes()
    _, plain = tensor_files.load_tensors(path)
    for flipped in flips(content, 300):
        path.write_bytes(flipped)
        with suppress(ResultError):  # else the digest is no longer called so
            found, said = tensor_files.load_tensors(path)
            assert {name: said[name] for name in plain} == plain
            for name, expected in tensors.items():
                np.testing.assert_array_equal(found[name], expected, strict=True)
    path.write_bytes(content.replace(np.float64(39).tobytes(), np.float64(40).tobytes()))
    with pytest.raises(ResultError, match="is damaged: its numbers are no longer"):
        tensor_files.load_tensors(path)


def test_tensors_without_a_digest_are_read_as_they_are(tmp_path: Path) -> None:
    header = json.dumps({"kind": "x"})
    (tmp_path / "a").write_bytes(save({"one": np.arange(3)}, metadata={"headlight": header}))
    found, said = tensor_files.load_tensors(tmp_path / "a")
    assert (found["one"].tolist(), said) == ([0, 1, 2], {"kind": "x"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read: "),
        (b"junk" * 50, "cannot be read: "),
        (b"\x02\0\0\0\0\0\0\0{}", "is not a map that Headlight wrote"),
    ],
)
def test_other_files_are_no_tensors(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(RunError, match=message):
        tensor_files.load_tensors(tmp_path / "a", what="map", error=RunError)


def test_windows_opens_no_folders(tmp_path: Path, monkeypatch) -> None:
    opened = os.open

    def open_file(path, flags, *arguments, **options):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr("headlight.files.os.open", open_file)
    monkeypatch.setattr("headlight.files.WINDOWS", True)
    files.write(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


ON_WINDOWS = """
import builtins, errno
del errno.EDQUOT
imported = builtins.__import__
lacking = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "pty"}

def import_there(name, globals=None, *rest, **options):
    if name in lacking and (globals or {}).get("__name__", "").startswith("headlight"):
        raise ModuleNotFoundError(f"Windows has no {name}")
    return imported(name, globals, *rest, **options)

builtins.__import__ = import_there
import headlight
headlight.load, headlight.survey
import headlight.cli
"""


@pytest.mark.long
def test_nothing_that_only_posix_has_is_needed() -> None:
    """What Windows lacks is removed from Headlight's own modules, and they still load."""
    finished = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "n" * 199 + "é" * 20])
def test_a_file_of_the_longest_name_is_written(tmp_path: Path, name: str) -> None:
    files.write(tmp_path / name, b"all")
    assert files.write_new(tmp_path / name[1:], b"new")
    assert {each.name for each in tmp_path.iterdir()} == {name, name[1:]}
    assert (tmp_path / name).read_bytes() == b"all"
