"""Folders within that of a run: only what a run made is removed, and nothing through a link."""

from pathlib import Path

import pytest

from engine.test_surroundings import snapshot
from headlight.catalogue import studies
from headlight.engine.folder import RunFolder
from headlight.engine.work_folders import prepare_work_folders, remove_work_folder
from headlight.errors import RunError
from headlight.reports.passage_pages import check_pages
from open_folders import opening
from studies.victims import VICTIMS

KEPT = [
    ("guided", "runs"),
    ("adversary", "models"),
]
"""A study, and a folder that it keeps something in."""


def test_what_a_run_made_is_taken_up_or_removed(tmp_path: Path) -> None:
    prepare_work_folders(tmp_path, ["maps"])
    half = tmp_path / "maps" / "model" / ".a.nc.12.13.partial"
    half.parent.mkdir()
    half.write_text("half")
    (tmp_path / "maps" / "done").write_text("done")
    prepare_work_folders(tmp_path, ["maps"])
    assert not half.exists()
    assert (tmp_path / "maps" / "done").exists()
    prepare_work_folders(tmp_path, ["maps"], overwrite=True)
    assert not (tmp_path / "maps" / "done").exists()
    remove_work_folder(tmp_path / "maps")
    assert not list(tmp_path.iterdir())


def test_links_within_are_not_followed(tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    (outside / ".a.nc.12.13.partial").write_text("somebody else's")
    prepare_work_folders(run, ["maps"])
    (run / "maps" / "link").symlink_to(outside, target_is_directory=True)
    prepare_work_folders(run, ["maps"])
    prepare_work_folders(run, ["maps"], overwrite=True)
    assert [each.name for each in outside.iterdir()] == [".a.nc.12.13.partial"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_refusal_touches_no_folder(tmp_path: Path, overwrite: bool) -> None:
    prepare_work_folders(tmp_path, ["first"])
    (tmp_path / "first" / "kept").write_text("kept")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "thesis.tex").write_text("mine")
    before = snapshot(tmp_path)
    with pytest.raises(RunError, match="second holds files that no run of Headlight made"):
        prepare_work_folders(tmp_path, ["first", "second"], overwrite=overwrite)
    assert snapshot(tmp_path) == before


@pytest.mark.papers
@pytest.mark.parametrize(("name", "kept"), KEPT)
def test_no_study_removes_what_it_has_not_made(name: str, kept: str, tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    (outside / "thesis.tex").write_text("mine")
    run.mkdir()
    study, victim = studies()[name], VICTIMS[name]
    settings = study.settings.from_mapping({**study.smallest, **victim.changed})

    def begin() -> None:
        folder = RunFolder(path=run, overwrite=True)
        opening(study.run)(victim.source(), victim.model, settings, folder=folder, progress=False)

    (run / kept).symlink_to(outside, target_is_directory=True)
    with pytest.raises(RunError, match=f"{kept} is a link, where a run keeps"):
        begin()
    (run / kept).unlink()
    outside.rename(run / kept)
    with pytest.raises(RunError, match=f"{kept} holds files that no run of Headlight made"):
        begin()
    assert snapshot(run / kept) == {"thesis.tex": b"mine"}


def test_pages_are_not_written_through_a_link(tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    run.mkdir()
    (run / "pages").symlink_to(outside, target_is_directory=True)
    with pytest.raises(RunError, match="pages is a link, where a run writes its pages"):
        check_pages(["a text"], run)
