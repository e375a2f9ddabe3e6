"""Tiny runs of all studies and papers give the numbers that they gave: see `scripts/freeze.py`."""

import json
from pathlib import Path

import pytest

from frozen_files import FROZEN, Tolerance, differences, to_json
from frozen_runs import PAPER_RUNS, RUNS, STUDY_RUNS, Material, numbers_of
from headlight.studies.catalogue import STUDIES


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return Material(tmp_path_factory.mktemp("frozen"))


def test_no_study_and_no_file_is_forgotten() -> None:
    assert {run.study for run in STUDY_RUNS.values()} == set(STUDIES)
    assert {path.stem for path in FROZEN.iterdir()} == set(RUNS)


@pytest.mark.parametrize(
    "name", [*STUDY_RUNS, *(pytest.param(name, marks=pytest.mark.slow) for name in PAPER_RUNS)]
)
def test_the_numbers_are_what_they_were(name: str, material: Material, tmp_path: Path) -> None:
    expected = json.loads((FROZEN / f"{name}.json").read_text(encoding="utf-8"))
    found = json.loads(to_json(numbers_of(name, material, tmp_path / "out")))
    assert not list(differences(expected, found, Tolerance()))
