"""The folder of a reproduction: only what it made is removed."""

from pathlib import Path

import pytest

from headlight.engine.work_folders import prepare_work_folders
from headlight.errors import RunError
from headlight_papers.papers.reproduction import reproduction_folder
from headlight_papers.papers.settings import RESULTS, RUNS


@pytest.mark.parametrize("name", [RESULTS, RUNS])
def test_a_reproduction_removes_only_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.tex").write_text("mine")
    with (
        pytest.raises(RunError, match=f"{name} holds files that no run of Headlight made"),
        reproduction_folder(tmp_path, overwrite=True).opened(),
    ):
        pass
    assert (tmp_path / name / "thesis.tex").exists()
    (tmp_path / name / "thesis.tex").unlink()
    prepare_work_folders(tmp_path, (RESULTS, RUNS))
    (tmp_path / name / "own.nc").write_text("own")
    with reproduction_folder(tmp_path, overwrite=True).opened():
        assert not (tmp_path / name).exists()
