"""What lies in and around the folder of a run and is not the run's: nothing of it is touched."""

import json
from pathlib import Path

import pytest

from engine.test_run import MASKED, two_passes, with_head
from headlight.engine.checkpoint import FILE as CHECKPOINT
from headlight.engine.claims import workers_at
from headlight.engine.file_names import BLOCKS, CLAIMS, COUNTS, PASS, PLAN
from headlight.engine.folder import JOIN, RunFolder
from headlight.engine.lock import LOCK
from headlight.engine.pass_folders import passes
from headlight.engine.work_folders import MARK
from headlight.errors import RunError, UsageError
from headlight.output_folder import RECORD, OutputFolder

BLOCK = f"{0:09d}-{'a' * 16}"


def unfinished(folder: Path) -> None:
    """What a run without workers, and one with them, keep while they are not finished."""
    for name in ("alone", "shared"):
        (folder / name).mkdir(parents=True)
    (folder / "alone" / CHECKPOINT).write_bytes(b"days of work")
    (folder / "shared" / PLAN).write_text('{"signature": {"study": "distances"}, "hardware": {}}')
    for name, suffix in ((BLOCKS, "safetensors"), (COUNTS, "json"), (CLAIMS, "json")):
        (folder / "shared" / name).mkdir()
        (folder / "shared" / name / f"{BLOCK}.{suffix}").write_text("{}")
    (folder / "shared" / BLOCKS / f".{BLOCK}.safetensors.1.2.partial").write_bytes(b"half")


def snapshot(folder: Path) -> dict[str, str | bytes]:
    """Every file with its bytes, every link with where it leads."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """A folder with runs of others, files of others, and links to both."""
    outside, run = tmp_path / "outside", tmp_path / "run"
    unfinished(outside)
    unfinished(run)
    unfinished(run / "gradient")  # as passes are called; of this run it is none
    (run / "link").symlink_to(outside / "alone", target_is_directory=True)
    (run / "exact").symlink_to(outside / "shared", target_is_directory=True)
    (outside / "1.html").write_text("a page of another run")
    (run / "pages").symlink_to(outside, target_is_directory=True)
    for name in (BLOCKS, CLAIMS, COUNTS):
        (run / name).mkdir()
        (run / name / "notes.json").write_text("mine")
    (run / "notes.txt").write_text("mine")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"overwrite": True}, {"workers": 1, "overwrite": True}])
def test_a_run_touches_only_what_it_wrote(around: Path, how: dict) -> None:
    before = snapshot(around)
    run = around / "run"
    two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=run, **how))
    after = snapshot(around)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) == {"run/result.nc", "run/.headlight"}
    two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=run, overwrite=True))
    after = snapshot(around)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) == {"run/result.nc", "run/.headlight"}


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"workers": 1}, {"workers": JOIN}])
def test_a_folder_of_others_is_refused(around: Path, how: dict) -> None:
    before = snapshot(around)
    with pytest.raises(UsageError, match=r"something already, and no run; .*overwrite=True"):
        two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=around / "run", **how))
    assert snapshot(around) == before


@pytest.mark.parametrize("left", [f"models/{MARK}", f"backward/{PASS}", RECORD, LOCK])
def test_what_an_interrupted_run_left_is_not_of_others(tmp_path: Path, left: str) -> None:
    (tmp_path / left).parent.mkdir(exist_ok=True)
    (tmp_path / left).touch()
    RunFolder(path=tmp_path, resume=True).check_free()


@pytest.mark.slow
def test_what_the_run_itself_has_half_done_is_removed(around: Path) -> None:
    run = around / "run"
    before = snapshot(around)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for kept, workers in ((CHECKPOINT, None), (PLAN, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("headlight.engine.run.joined", stop)
            folder = RunFolder(path=run, workers=workers, overwrite=True)
            with pytest.raises(KeyboardInterrupt):
                two_passes(with_head("bert"), MASKED, [], folder=folder)
        assert [each.name for each in passes(run)] == ["run", "backward"]
        assert (run / kept).exists()
        assert (run / "backward" / kept).exists()
        seen: list[str] = []
        two_passes(with_head("bert"), MASKED, seen, folder=RunFolder(path=run, overwrite=True))
        assert len(seen) == 8
        after = snapshot(around)
        assert {name: after.get(name) for name in before} == before
        assert set(after) - set(before) == {"run/result.nc", "run/.headlight"}
        (run / "result.nc").unlink()
        (run / RECORD).unlink()


@pytest.mark.parametrize("how", [{"overwrite": True}, {"workers": 1, "overwrite": True}])
def test_another_run_where_a_pass_would_be_kept_is_refused(around: Path, how: dict) -> None:
    run = around / "run"
    (run / "gradient" / "alone").rename(run / "backward")
    before = snapshot(around)
    with pytest.raises(RunError, match="backward holds a run, and this one"):
        two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=run, **how))
    after = snapshot(around)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize("name", ["backward", BLOCKS])
def test_nothing_is_kept_through_a_link(tmp_path: Path, name: str) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    run.mkdir()
    (run / name).symlink_to(outside, target_is_directory=True)
    folder = RunFolder(path=run, workers=1, overwrite=True)
    with pytest.raises(RunError, match=f"{name} is a link, where a run keeps"):
        two_passes(with_head("bert"), MASKED, [], folder=folder)
    assert not list(outside.iterdir())


@pytest.mark.slow
def test_blocks_behind_a_link_are_not_removed(around: Path) -> None:
    """Laid there after the run had begun."""
    run, outside = around / "run", around / "outside" / "shared"
    OutputFolder(run).write(PLAN, b'{"signature": {}, "hardware": {}}')
    for name in (BLOCKS, CLAIMS, COUNTS):
        (run / name / "notes.json").unlink()
        (run / name).rmdir()
        (run / name).symlink_to(outside / name, target_is_directory=True)
    (outside / CLAIMS / f"{BLOCK}.json").unlink()  # else somebody is at work
    before = snapshot(around / "outside")
    two_passes(with_head("bert"), MASKED, [], folder=RunFolder(path=run, overwrite=True))
    assert snapshot(around / "outside") == before


def test_who_works_in_another_run_does_not_work_in_this_one(around: Path) -> None:
    claim = around / "run" / "shared" / CLAIMS / f"{BLOCK}.json"
    claim.write_text(json.dumps({"host": "elsewhere", "process": 1, "token": "x"}))
    assert workers_at(around / "run" / "shared") == 1
    assert workers_at(around / "run") == 0
